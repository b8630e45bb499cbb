package thrift2

import (
	"fmt"

	"github.com/apache/thrift/lib/go/thrift"
)

// TransportError is the failure of a connection. The outcome of the call on it is unknown. The
// connection cannot be used again.
type TransportError struct {
	// Sent is set if the server may have received the call.
	Sent bool
	Err  error
}

func (e *TransportError) Error() string { return e.Err.Error() }

func (e *TransportError) Unwrap() error { return e.Err }

// IOError is the gateway's answer when the cluster refuses a call or fails at it.
// The message begins with the name of a Java exception.
type IOError struct {
	Message  string
	CanRetry bool
	// Argument is set if the gateway could not use the arguments, and therefore did nothing.
	Argument bool
}

func (e *IOError) Error() string { return e.Message }

// ProtocolError is the answer of a gateway that fails by itself.
type ProtocolError struct {
	Method string
	// Unread is set if the gateway does not know the call or cannot read it: it has another version
	// or runs the older Thrift service. Otherwise the gateway may have failed at any point, even
	// after the call was applied.
	Unread  bool
	Message string
}

func (e *ProtocolError) Error() string {
	verb := "fails at"
	if e.Unread {
		verb = "refuses"
	}
	return fmt.Sprintf("the gateway %s the call %s: %s", verb, e.Method, e.Message)
}

// unread reports whether a Thrift exception is one from before the execution of the call: a server
// first looks up the name and reads the arguments.
func unread(kind int32) bool {
	switch kind {
	case thrift.UNKNOWN_METHOD, thrift.INVALID_MESSAGE_TYPE_EXCEPTION, thrift.WRONG_METHOD_NAME, thrift.PROTOCOL_ERROR,
		thrift.INVALID_TRANSFORM, thrift.INVALID_PROTOCOL, thrift.UNSUPPORTED_CLIENT_TYPE:
		return true
	}
	return false
}
