require("express")().listen(process.env.PORT || 5000);
