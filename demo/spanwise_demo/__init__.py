"""A real support agent with planted causes of slowness, to see Spanwise find them."""
