run Sinatra::Application
