class Hocket < Formula
  desc "Run workflows of agents, tools and people, durably"
  homepage "{{.Repository}}"
  version "{{.Number}}"
  license "Apache-2.0"
{{range $os, $block := .Systems}}
  on_{{$os}} do
{{- range $block}}
    on_{{.CPU}} do
      url "{{$.Repository}}/releases/download/{{$.Version}}/{{.Name}}"
      sha256 "{{.SHA256}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "hocket"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/hocket.bash" => "hocket"
    zsh_completion.install "completions/_hocket"
    fish_completion.install "completions/hocket.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/hocket --version")
    system bin/"hocket", "init"
    assert_match "success", shell_output("#{bin}/hocket run hello 2>&1")
  end
end
