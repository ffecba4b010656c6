# Installs a formula from a directory of archives, with the few words of Homebrew that ours uses:
#
#   ruby brew.rb FORMULA ARCHIVES PREFIX
require "digest"
require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"

FORMULA, ARCHIVES, PREFIX = ARGV
MAC = RbConfig::CONFIG["host_os"].include?("darwin")
ARM = RbConfig::CONFIG["host_cpu"].match?(/arm|aarch/)

class Target
  def initialize(dir) = @dir = File.join(PREFIX, dir)

  def install(*things)
    FileUtils.mkdir_p(@dir)
    things.flatten.each do |thing|
      pairs = thing.is_a?(Hash) ? thing : { thing => File.basename(thing) }
      pairs.each { |from, name| FileUtils.cp(from, File.join(@dir, name)) }
    end
  end

  def /(name) = File.join(@dir, name)
  def to_s = @dir
end

class Formula
  class << self
    %i[desc homepage license version url sha256].each do |word|
      define_method(word) { |value = nil| value ? instance_variable_set("@#{word}", value) : instance_variable_get("@#{word}") }
    end
    def on_macos = (yield if MAC)
    def on_linux = (yield unless MAC)
    def on_arm = (yield if ARM)
    def on_intel = (yield unless ARM)
    def test(&block) = define_method(:run_test, &block)
    def inherited(formula) = (@@formula = formula)
    def it = @@formula
  end

  def version = self.class.version
  def bin = Target.new("bin")
  def man1 = Target.new("share/man/man1")
  def bash_completion = Target.new("etc/bash_completion.d")
  def zsh_completion = Target.new("share/zsh/site-functions")
  def fish_completion = Target.new("share/fish/vendor_completions.d")

  def shell_output(command)
    out, status = Open3.capture2(command)
    raise "#{command}: #{status}" unless status.success?
    out
  end

  def system(*command) = super(*command.map(&:to_s)) || raise("#{command.join(" ")} failed")

  def assert_match(want, got)
    raise "expected #{want} in #{got}" unless got.include?(want)
  end
end

load FORMULA
formula = Formula.it
%i[desc homepage license version url sha256].each { |word| raise "the formula has no #{word}" unless formula.send(word) }
archive = File.join(ARCHIVES, File.basename(formula.url))
raise "the checksum of #{archive} is another one" unless Digest::SHA256.file(archive).hexdigest == formula.sha256
Dir.mktmpdir do |dir|
  Dir.chdir(dir) do
    Kernel.system("tar", "-xzf", archive, exception: true)
    formula.new.install
  end
end
Dir.mktmpdir { |dir| Dir.chdir(dir) { formula.new.run_test } }
puts "installed and tested"
