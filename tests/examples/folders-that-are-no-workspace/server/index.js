require("express")().listen(5000);
