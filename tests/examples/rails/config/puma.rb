port ENV.fetch("PORT", 3000)
