package web

import (
	"context"
	"net"
	"net/http"
)

// Over HTTP/1.0 an answer of unknown length ends where its connection ends, so that an
// answer that is cut off looks whole. Until all of the answer is sent, such a connection is
// set up to be reset, whoever closes it, and also if the process dies. Clients and proxies
// take a reset for the failure it is. A socket file has no reset: proxies must use HTTP/1.1
// there.

// resettable is a connection that can be closed by a reset. *net.TCPConn is one.
type resettable interface {
	SetLinger(seconds int) error
	Close() error
}

// connection is the context key of the connection of a request.
type connection struct{}

// WithConnection is the ConnContext of a server of a Kit. It lets a Stream over HTTP/1.0 that is
// cut off reset its connection. Otherwise it would look whole.
func WithConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connection{}, c)
}

// resettableOf returns the connection of a request, beneath TLS and other wrappers, in a
// state in which closing it resets it. It returns nil if there is no such connection.
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
