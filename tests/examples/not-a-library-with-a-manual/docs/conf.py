project = "Lib"
extensions = []
