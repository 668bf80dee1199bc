"""What the claims about the limits of the law alone are derived with."""
