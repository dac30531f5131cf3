"""Two small apps that `preview demo` shows when it is given no repository: one for Node, one for Python alone."""
