"""What the pure rooms decide and say: values in, values out."""
