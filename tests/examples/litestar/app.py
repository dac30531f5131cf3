from litestar import Litestar

app = Litestar([])
