"""A model as ELK plans it."""
