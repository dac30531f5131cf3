defmodule Example.MixProject do
  defp deps do
    [{:phoenix, "~> 1.8"}]
  end
end
