package web

import (
	"context"
	"net"
	"net/http"
)

// With HTTP/1.0 an answer of unknown length ends when its connection is closed, so a truncated
// answer looks complete. Therefore, until the whole answer is sent, the connection is configured so
// that closing it sends a TCP reset, even if the process dies. Clients and proxies recognize a
// reset as a failure. A Unix socket has no reset, so proxies must use HTTP/1.1 there.

// resettable is a connection that can be closed by a reset. *net.TCPConn is one.
type resettable interface {
	SetLinger(seconds int) error
	Close() error
}

// connection is the context key of the connection of a request.
type connection struct{}

// WithConnection is the ConnContext of a server of a Kit. It lets a truncated Stream over HTTP/1.0
// reset its connection. Otherwise the answer would look complete.
func WithConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connection{}, c)
}

// resettableOf returns the connection of a request, below TLS and other wrappers. It configures the
// connection so that closing sends a TCP reset. It returns nil if there is no such connection.
func resettableOf(r *http.Request) resettable {
	c, _ := r.Context().Value(connection{}).(net.Conn)
	for c != nil {
		switch v := c.(type) {
		case resettable:
			if v.SetLinger(0) != nil {
				return nil
			}
			return v
		case interface{ NetConn() net.Conn }:
			c = v.NetConn()
		case interface{ Raw() net.Conn }: // of the PROXY protocol
			c = v.Raw()
		default:
			return nil
		}
	}
	return nil
}
