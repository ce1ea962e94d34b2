"""What a user sees of training while it runs."""
