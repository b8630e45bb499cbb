package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	unixPrefix = "unix:"
	// inherited is the value of --listen for a socket that systemd has opened; firstFD is the
	// number of its file descriptor.
	inherited = "systemd"
	firstFD   = 3
)

// checkAddress returns an error unless a text is an address with a port for net.Listen. The error
// describes the text.
func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	scheme, rest, isURL := strings.Cut(address, "://")
	_, nameless := strconv.ParseUint(address, 10, 16)
	switch {
	case isURL:
		return fmt.Errorf("%q is an address with a scheme: write host and port alone, such as %s", address,
			strings.TrimRight(cmp.Or(rest, "127.0.0.1:8080"), "/")+
				map[string]string{"https": ", and give a certificate by --tls-cert"}[scheme])
	case nameless == nil:
		return fmt.Errorf("%q is a port alone: write :%s for every interface, or 127.0.0.1:%s for this machine", address, address, address)
	case err == nil && strings.Contains(port, "/"):
		return fmt.Errorf("%q has a path: write host and port alone, and the path into --base-path", address)
	case err != nil || port == "":
		return fmt.Errorf("%q must be an address and port such as :8080 or 127.0.0.1:8080", address)
	}
	return nil
}

// listen opens the listener of --listen, with at most --max-connections concurrent connections.
func (c *config) listen(log *slog.Logger) (net.Listener, error) {
	l, err := c.open()
	if err != nil {
		return nil, fmt.Errorf("cannot listen, choose another --listen: %w", err)
	}
	if l.Addr().Network() == "unix" {
		l = localPeers{l}
	}
	if c.MaxConnections > 0 {
		l = newLimited(l, c.MaxConnections, log)
	}
	return l, nil
}

func (c *config) open() (net.Listener, error) {
	if c.Listen == inherited {
		return inheritedListener()
	}
	if path, ok := strings.CutPrefix(c.Listen, unixPrefix); ok {
		return listenUnix(path, fs.FileMode(c.SocketMode))
	}
	return net.Listen("tcp", c.Listen)
}

// inheritedListener returns the socket of systemd's socket activation, file 3. LISTEN_PID must be
// this process, because child processes inherit the variables.
func inheritedListener() (net.Listener, error) {
	pid, fds := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	if pid != strconv.Itoa(os.Getpid()) || fds == "" {
		return nil, errors.New("systemd has handed over no socket: start by a .socket unit, or give an address")
	}
	if fds != "1" {
		return nil, fmt.Errorf("systemd has handed over %s sockets: give the .socket unit one ListenStream", fds)
	}
	f := os.NewFile(firstFD, "LISTEN_FD_3")
	defer f.Close() // the listener has its own
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("what systemd has handed over is no listening stream socket: %w", err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // systemd's file
	}
	return l, nil
}

// listenUnix listens on a socket file. The file gets its permissions before clients can find it. It
// replaces a file that a killed server has left. It is removed at the end, unless another file has
// replaced it.
func listenUnix(path string, mode fs.FileMode) (net.Listener, error) {
	if err := stale(path); err != nil {
		return nil, err
	}
	unnamed := fmt.Sprintf("%s.%d~", path, os.Getpid())
	_ = os.Remove(unnamed) // of a server that was killed here
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: unnamed, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(unnamed, mode); err == nil {
		err = os.Rename(unnamed, path)
	}
	var own os.FileInfo
	if err == nil {
		own, err = os.Lstat(path)
	}
	if err != nil {
		_ = os.Remove(unnamed)
		return nil, errors.Join(err, l.Close())
	}
	return &socketFile{Listener: l, path: path, own: own}, nil
}

// stale returns an error if a path cannot be used for a socket: because another kind of file exists
// there, or because a server answers on the socket.
func stale(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket: remove it, or name another path", path)
	}
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = conn.Close() // it has told enough
		return fmt.Errorf("another server listens on %s: stop it, or name another path", path)
	}
	return nil
}

// socketFile is a listener that removes its file.
type socketFile struct {
	net.Listener
	path string
	own  os.FileInfo
	once sync.Once
}

func (s *socketFile) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

func (s *socketFile) Close() error {
	s.once.Do(func() {
		if st, err := os.Lstat(s.path); err == nil && os.SameFile(st, s.own) {
			_ = os.Remove(s.path)
		}
	})
	return s.Listener.Close()
}

// localPeers assigns the address of this machine to the peers of a socket file. Thus a reverse
// proxy among them can be trusted with --trusted-proxy 127.0.0.1, like one that connects by TCP.
type localPeers struct{ net.Listener }

func (l localPeers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return localConn{c}, nil
}

type localConn struct{ net.Conn }

var localAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}

func (c localConn) RemoteAddr() net.Addr { return localAddr }

// CloseWrite lets net/http end a connection in an orderly way.
func (c localConn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if cw, ok := c.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return errors.ErrUnsupported
}

// limited is a listener that bounds the number of open connections. Further connections wait in the
// queue of the system until others end.
type limited struct {
	net.Listener
	free chan struct{}
	done chan struct{}
	once sync.Once
	log  *slog.Logger
	told time.Time // when the log last said that the bound is reached
}

func newLimited(l net.Listener, max int, log *slog.Logger) *limited {
	return &limited{Listener: l, free: make(chan struct{}, max), done: make(chan struct{}), log: log}
}

// Accept is called by one goroutine.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	default:
		if now := time.Now(); now.Sub(l.told) > time.Minute {
			l.told = now
			l.log.Warn("as many connections are open as may be, others wait: raise --max-connections or lower --idle-timeout",
				"connections", cap(l.free))
		}
		select {
		case l.free <- struct{}{}:
		case <-l.done:
			return nil, net.ErrClosed
		}
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitedConn{Conn: c, release: sync.OnceFunc(func() { <-l.free })}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.release()
	return err
}

// CloseWrite lets net/http end a connection in an orderly way.
func (c *limitedConn) CloseWrite() error { return closeWrite(c.Conn) }

// NetConn returns the underlying connection.
func (c *limitedConn) NetConn() net.Conn { return c.Conn }

// fileMode is the permissions of a file, in octal.
type fileMode fs.FileMode

func (m *fileMode) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 8, 32)
	if err != nil || n > 0o777 {
		return fmt.Errorf("%q is not a mode: give one in octal, such as 0660", text)
	}
	*m = fileMode(n)
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (m fileMode) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%04o", m), nil }
