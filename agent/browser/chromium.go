package browser

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hocket-dev/hocket/internal/process"
)

// chromium is a browser process with its own profile. It lasts until everything that
// it started has ended.
type chromium struct {
	path    string
	proxy   string
	key     string
	sandbox bool

	dir   string // profile and home
	wire  *wire
	stop  context.CancelFunc
	ended chan struct{}
	said  process.Tail
}

// flags make a browser quiet and isolated: no window, nothing stored, nothing sent on its
// own behalf, and no network access except through the proxy.
func (c *chromium) flags() []string {
	flags := []string{
		"--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + filepath.Join(c.dir, "profile"),
		// The proxy is used for this machine too, and resolves every name.
		"--proxy-server=" + c.proxy, "--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--no-first-run", "--no-default-browser-check", "--no-pings", "--no-service-autorun", "--disable-default-apps", "--disable-extensions",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-breakpad", "--disable-crash-reporter",
		"--disable-client-side-phishing-detection", "--disable-domain-reliability", "--disable-dev-shm-usage", "--disable-gpu",
		"--disable-hang-monitor", "--disable-prompt-on-repost", "--disable-features=Translate,MediaRouter,OptimizationHints,DialMediaRouteProvider",
		"--metrics-recording-only", "--password-store=basic", "--use-mock-keychain", "--mute-audio", "--hide-scrollbars",
		"--force-color-profile=srgb", "--window-size=1280,800",
	}
	if !c.sandbox {
		flags = append(flags, "--no-sandbox")
	}
	return append(flags, "about:blank")
}

// environment keeps only what the browser needs: it must not see keys and tokens. What it
// writes outside its profile goes to a home directory that is removed with it.
func (c *chromium) environment() []string {
	env := []string{"HOME=" + c.dir, "TMPDIR=" + c.dir, "XDG_CONFIG_HOME=" + c.dir, "XDG_CACHE_HOME=" + c.dir, "XDG_DATA_HOME=" + c.dir}
	for _, name := range []string{"PATH", "LANG", "LC_ALL", "TZ", "XDG_RUNTIME_DIR", "SYSTEMROOT", "TEMP", "TMP", "LOCALAPPDATA", "USERPROFILE", "LD_LIBRARY_PATH", "FONTCONFIG_FILE", "FONTCONFIG_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// tempDir returns where the directory of a browser is created. The path must be short,
// because the browser creates a socket in it, whose path is limited to about a hundred
// bytes.
func tempDir() string {
	const longest, usual = 32, "/tmp"
	dir := os.TempDir()
	if info, err := os.Stat(usual); len(dir) > longest && runtime.GOOS == "linux" && err == nil && info.IsDir() {
		return usual
	}
	return dir
}

// start starts the process. The caller must close it. onEnd is called when it has ended for
// any reason.
func (c *chromium) start(onEvent func(event), onEnd func()) (err error) {
	if c.dir, err = os.MkdirTemp(tempDir(), "hocket-browser-"); err != nil {
		return err
	}
	cmd := exec.Command(c.path, c.flags()...)
	cmd.Dir, cmd.Env = c.dir, c.environment()
	fromUs, toThem, err := os.Pipe()
	if err != nil {
		return errors.Join(err, os.RemoveAll(c.dir))
	}
	toUs, fromThem, err := os.Pipe()
	if err != nil {
		return errors.Join(err, fromUs.Close(), toThem.Close(), os.RemoveAll(c.dir))
	}
	give(cmd, fromUs, fromThem)
	c.wire = &wire{PipeConn: chromedp.NewPipeConn(toUs, toThem), onEvent: onEvent}
	c.ended = make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	// A browser has nothing to save, so it gets no grace period.
	command := process.Command{Cmd: cmd, Key: c.key, Grace: time.Millisecond}
	go func() {
		defer close(c.ended)
		if err := command.Run(ctx, "", c.said.Add, c.said.Add); err != nil && ctx.Err() == nil {
			_ = c.said.Add([]byte(err.Error()))
		}
		// These are the browser's ends. Only after they are closed can the reader of our
		// ends see the end of the stream.
		_, _ = fromUs.Close(), fromThem.Close()
		onEnd()
	}()
	return nil
}

// close ends the process and removes all that it left.
func (c *chromium) close() {
	c.stop()
	<-c.ended
	_ = c.wire.Close()
	// A process that is just being killed may still write a file.
	for deadline := time.Now().Add(removeTime); os.RemoveAll(c.dir) != nil && time.Now().Before(deadline); {
		time.Sleep(removePause)
	}
}

const (
	removeTime  = 5 * time.Second
	removePause = 20 * time.Millisecond
)
