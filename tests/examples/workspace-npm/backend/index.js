require("express")().listen(4000);
