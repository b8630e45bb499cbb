package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// hostile are values that no parameter or segment takes, or few do.
var hostile = []string{
	"", "%00", "%0A", "%1b%5B31m", "NaN", "-Infinity", "1e400", "0x1p3", "-1", "0", "1", "1.5", "1_0", "+5", "%205", "5%20", "9223372036854775808", "1e9",
	"%C3%BC%E2%82%AC", "%FF", "%zz", "%", "a,b", ",", "1,2,3,4", "x", "X", "true", "*", "%3Cb%3E%27%22", "2026-01-01T00:00:00Z", strings.Repeat("x", 300), strings.Repeat("9,", 2000),
}

// headers change what is asked for, or claim what is not so.
var headers = []string{
	"Accept: text/html", "Accept: application/geo+json", "Accept: application/json;q=0.1", "Accept: image/png", "Accept: application/x-ndjson", "Accept: text/html,application/json;q=0.9,*/*;q=0.8",
	"Accept: application/json;q=0", "Accept: */*;q=0", "Accept: ;;,q=x", "Accept: application/vnd.mapbox-vector-tile", "Accept: application/vnd.maplibre-tile", "Accept: application/problem+json",
	"Accept-Encoding: gzip", "Accept-Encoding: br", "Accept-Encoding: zstd", "Accept-Encoding: identity", "Accept-Encoding: gzip;q=0", "Accept-Encoding: *;q=0", "Accept-Encoding: gzip, br;q=0.9, zstd;q=0.1", "Accept-Encoding: ,;q",
	"Accept-Language: fr-CH, de;q=0.5", "Accept-Language: *;q=x", "If-None-Match: *", "If-None-Match: {etag}", "If-None-Match: W/{etag}, \"x\"", "If-None-Match: \"x", "If-Match: \"x\"", "If-Modified-Since: Fri, 31 Dec 2100 00:00:00 GMT",
	"Range: bytes=0-9", "Origin: https://a.example", "X-Forwarded-For: 8.8.8.8, 10.0.0.1", "X-Forwarded-For: x", "X-Forwarded-Host: a.example", "X-Forwarded-Proto: https", "X-Forwarded-Prefix: /maps", "Forwarded: for=8.8.8.8;host=a.example",
	"X-Api-Key: wrong", "Authorization: Bearer wrong", "Authorization: Basic !", "Expect: 100-continue", "X-HTTP-Method-Override: DELETE", "Host: a.example",
}

// coded are headers of bodies.
var coded = []string{
	"Content-Type: text/plain", "Content-Type: application/json", "Content-Type: application/geo+json", "Content-Type: application/x-www-form-urlencoded", "Content-Type: multipart/form-data; boundary=x", "Content-Type: ;",
	"Content-Type: application/json; charset=latin1", "Content-Encoding: gzip", "Content-Encoding: br", "Content-Encoding: identity",
}

// mutations are the changes of a request that need nothing but it.
func (r request) mutations() (list []request) {
	path, query, asks := strings.Cut(r.target, "?")
	if asks {
		pairs := strings.Split(query, "&")
		replaced := func(i int, pair ...string) {
			list = append(list, r.to(path+"?"+strings.Join(slices.Replace(slices.Clone(pairs), i, i+1, pair...), "&")))
		}
		for i, pair := range pairs {
			name, value, _ := strings.Cut(pair, "=")
			replaced(i)
			replaced(i, pair, pair)
			replaced(i, pair, name+"=x")
			replaced(i, name)
			replaced(i, name+"x="+value)
			replaced(i, strings.ToUpper(name)+"="+value)
			replaced(i, "%"+"6"+"1="+value)
			replaced(i, pair+";x=1")
			for _, v := range hostile {
				replaced(i, name+"="+v)
			}
		}
		slices.Reverse(pairs)
		list = append(list, r.to(path+"?"+strings.Join(pairs, "&")), r.to(path))
		query += "&"
	}
	for _, more := range []string{"", "&", "unknown=1", "_x=1", "key=x", "callback=x", "=", "%zz=1", "%00", "a=1;b=2", "api_key=", "f=json", "format=json", "utm_source=x"} {
		list = append(list, r.to(path+"?"+query+more))
	}
	list = append(list, r.inPath(path, strings.TrimPrefix(r.target, path))...)
	for _, h := range headers {
		list = append(list, r.with(h))
	}
	methods := []string{"HEAD", "OPTIONS", "TRACE", "get", "PROPFIND"}
	if !r.keyed() {
		// With its key a request could remove what the next ones need.
		methods = append(methods, "GET", "POST", "PUT", "DELETE", "PATCH")
	}
	for _, m := range methods {
		list = append(list, r.by(m))
	}
	list = append(list, r.by("OPTIONS").with("Origin: https://a.example").with("Access-Control-Request-Method: PUT").with("Access-Control-Request-Headers: x-api-key"),
		r.by("HEAD").with("Accept-Encoding: br"), r.by("HEAD").with("If-None-Match: {etag}"))
	if r.body != "" {
		list = append(list, r.inBody()...)
	}
	return list
}

// inPath changes the path. rest is the query with its question mark.
func (r request) inPath(path, rest string) (list []request) {
	for _, p := range []string{path + "/x", path + "/", path + "//", path + "..%2f", path + "/..%2f..%2fetc%2fpasswd", path + "/../x", path + "%00", path + "%zz", path + "%", path + ".json", path + ".", path + "%2f", path + ";x",
		strings.ToUpper(path), "/." + path, "/x" + path, strings.Replace(path, "/", "/%2e%2e/", 1), path + "/" + strings.Repeat("x", 5000)} {
		list = append(list, r.to(p+rest))
	}
	segments := strings.Split(path, "/")[1:]
	for i, segment := range segments {
		values := hostile
		if i == 0 {
			values = []string{"", "x", "%00"}
		}
		if segment != "" {
			values = append(slices.Clone(values), segment+segment, segment+",x", strings.ToUpper(segment), "%"+hex(segment[0])+segment[1:], segment[1:])
		}
		if stem, ext, ok := strings.Cut(segment, "."); ok {
			values = append(values, stem, "x."+ext, "-1."+ext, "99999."+ext, stem+".x", stem+"."+strings.ToUpper(ext), stem+"."+ext+".gz", stem+"@2x."+ext, stem+"@3x.png")
		}
		for _, v := range values {
			if i == 0 && v == "" {
				continue // two slashes begin the name of a host
			}
			list = append(list, r.to("/"+strings.Join(slices.Replace(slices.Clone(segments), i, i+1, v), "/")+rest))
		}
	}
	return list
}

func hex(b byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[b>>4], digits[b&15]})
}

func (r request) inBody() (list []request) {
	for _, b := range []string{"", "x", "{}", "[]", "null", "\x00", "\xff\xfe", r.body[:len(r.body)/2], r.body + r.body, r.body + "\n" + r.body, "\ufeff" + r.body, " " + r.body + " ", strings.Repeat("[", 20000), strings.Repeat("x", 1<<20),
		strings.ReplaceAll(r.body, "\n", "\r\n"), "{\"x\":1," + strings.TrimPrefix(r.body, "{")} {
		list = append(list, r.holding(b))
	}
	for _, h := range coded {
		list = append(list, r.with(h))
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(r.body)) // a buffer takes all
	_ = z.Close()
	list = append(list, r.holding(packed.String()).with("Content-Encoding: gzip"), r.holding(packed.String()[:packed.Len()/2]).with("Content-Encoding: gzip"))
	var whole any
	if json.Unmarshal([]byte(r.body), &whole) != nil {
		return list
	}
	changeEach(whole, func(v any) { whole = v }, func() {
		b, _ := json.Marshal(whole) // it was JSON
		list = append(list, r.holding(strings.ReplaceAll(string(b), `"1e400"`, "1e400")))
	})
	return list
}

// changeEach puts other values in the place of each value within a document, and calls
// seen while each is there.
func changeEach(v any, set func(any), seen func()) {
	for _, other := range []any{nil, "", "x", "1e400", -1, 1.5, 1e300, true, []any{}, map[string]any{}, strings.Repeat("ü", 5000), []any{v}} {
		set(other)
		seen()
	}
	set(v)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			own := v[name]
			delete(v, name)
			seen()
			v[name+"x"] = own
			seen()
			delete(v, name+"x")
			changeEach(own, func(o any) { v[name] = o }, seen)
		}
	case []any:
		for i, own := range v {
			changeEach(own, func(o any) { v[i] = o }, seen)
		}
	}
}

// completions are the request with each parameter that its operation has and it lacks.
func (r request) completions(parameters []parameter) (list []request) {
	path, query, _ := strings.Cut(r.target, "?")
	for _, p := range parameters {
		if strings.Contains("&"+query, "&"+p.name+"=") {
			continue
		}
		for _, v := range append(slices.Clone(p.values), hostile...) {
			list = append(list, r.to(path+"?"+strings.TrimPrefix(query+"&"+p.name+"="+v, "&")))
		}
	}
	return list
}
