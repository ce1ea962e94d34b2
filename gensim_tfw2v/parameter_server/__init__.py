"""Tables on ps tasks, and the workers that train on them."""
