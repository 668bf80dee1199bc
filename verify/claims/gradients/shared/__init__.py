"""What the claims about gradients alone are derived and measured with."""
