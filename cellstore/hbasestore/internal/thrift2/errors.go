package thrift2

import "fmt"

// TransportError says that a connection failed: nothing is known of the call
// that was on it. The connection is of no more use.
type TransportError struct {
	// Sent says that the server may have got the call.
	Sent bool
	Err  error
}

func (e *TransportError) Error() string { return e.Err.Error() }

func (e *TransportError) Unwrap() error { return e.Err }

// IOError is what the gateway answers when the cluster refuses a call or fails
// it. The message begins with the name of a Java exception.
type IOError struct {
	Message  string
	CanRetry bool
}

func (e *IOError) Error() string { return e.Message }

// ProtocolError is the answer of a gateway that does not know the call or
// cannot read it: it is of another version or of the older Thrift service.
type ProtocolError struct {
	Method  string
	Type    int32
	Message string
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("the gateway refuses the call %s: %s", e.Method, e.Message)
}
