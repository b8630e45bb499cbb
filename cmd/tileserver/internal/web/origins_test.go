package web

import (
	"strings"
	"testing"
)

func TestCheckOrigins(t *testing.T) {
	for _, good := range []string{
		"", "*", "none", "null", "https://a.example", "http://localhost:3000", "https://a.example,https://b.example:8443",
		"http://[2001:db8::1]:8080,null",
		"https://xn--bcher-kva.example", "capacitor://localhost", "chrome-extension://abcdef",
	} {
		if err := CheckOrigins(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"https://a.example/", "a.example", "*.example", "https://*.example", "https://a.example:443", "http://a.example:80",
		"https://A.example", "HTTPS://a.example",
		"https://a.example, https://b.example", "https://a.example;https://b.example", "https://a.example,", "https://a.example,*",
		"*,*", "none,https://a.example",
		"https://a.example/maps", "https://a.example?x", "https://u@a.example", "https://bücher.example", "https://", "://a.example",
		"//a.example", "https:a.example",
		"https://a.example\nX: y", " ", "https://a.example ", "https://a.example:", "https://a.example:x",
	} {
		if err := CheckOrigins(bad); err == nil || !strings.Contains(err.Error(), "such as https://a.example") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
