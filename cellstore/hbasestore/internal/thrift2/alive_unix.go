//go:build unix

package thrift2

import (
	"crypto/tls"
	"net"
	"syscall"
)

// open reports whether the peer of an idle connection has neither hung up nor sent anything. It
// checks the socket without waiting for bytes, and over HTTP without waiting for the goroutine that
// waits for bytes.
func open(c net.Conn) bool {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	alive := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		alive = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
	})
	return err == nil && alive
}
