"""The pieces of the story: telling, cutting short, repairing."""
