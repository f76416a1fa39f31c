"""What a model is asked: Jinja files, with the shape of the answer beside them."""
