application = object()
