package points

import (
	"time"

	"quadrille/feature"
	"quadrille/internal/instant"
)

// ParseExpires parses the expiry time of a point: a time of RFC 3339 after 1970. Errors match
// ErrInvalidPoint: other text is a mistake, and must not be taken for "never".
func ParseExpires(text string) (time.Time, error) {
	at, ok := instant.Parse(text)
	if !ok || at.UnixMilli() <= 0 {
		return time.Time{}, feature.Faultf(ErrInvalidPoint, "expires is %.40q: give a time after 1970 such as 2026-07-01T12:00:00Z", text)
	}
	return at, nil
}
