project = "Example"
extensions = []
