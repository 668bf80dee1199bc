"""What a claim file imports: claims, their checks and controls, shared assumptions and figures."""
