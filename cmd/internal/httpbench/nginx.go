package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// nginxConf is nginx at its leanest: one process, no log, no limit of requests to
// a connection, and the files kept open.
const nginxConf = `daemon off; master_process off; worker_processes 1;
pid %[1]s/pid; error_log stderr;
events { worker_connections 1024; }
http {
	access_log off; sendfile on; tcp_nopush on; etag on;
	keepalive_timeout 600s; keepalive_requests 1000000000;
	open_file_cache max=100000 inactive=600s; open_file_cache_valid 600s;
	client_body_temp_path %[1]s/t1; proxy_temp_path %[1]s/t2; fastcgi_temp_path %[1]s/t3; uwsgi_temp_path %[1]s/t4; scgi_temp_path %[1]s/t5;
	types {} default_type application/octet-stream;
	server { listen %[2]s; root %[1]s/files; }
}
`

// nginx serves the bodies of answers as static files.
type nginx struct {
	*running
	files map[string]string // path of the file of a body
	dir   string
}

// startNginx starts the program named on the servers' core, with its files below
// dir; nil if there is no such program.
func startNginx(ctx context.Context, program, dir string) (*nginx, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, nil //nolint:nilerr // the tables say that it is not installed
	}
	files := filepath.Join(dir, "files")
	if err := os.MkdirAll(files, 0o755); err != nil {
		return nil, err
	}
	listen, err := freeAddress()
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, dir, listen), 0o600); err != nil {
		return nil, err
	}
	cmd := pinned(ctx, 0, path, "-p", dir, "-c", conf)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	n := &nginx{&running{"http://" + listen, cmd}, map[string]string{}, files}
	for range 100 {
		var conn net.Conn
		if conn, err = net.DialTimeout("tcp", listen, time.Second); err == nil {
			return n, conn.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	n.stop()
	return nil, fmt.Errorf("nginx does not answer: %w", err)
}

// answers are requests for files with the bodies of others.
func (n *nginx) answers(like []answer) ([]answer, error) {
	all := make([]answer, len(like))
	for i, a := range like {
		file, ok := n.files[string(a.Body)]
		if !ok {
			file = strconv.Itoa(len(n.files))
			if err := os.WriteFile(filepath.Join(n.dir, file), a.Body, 0o644); err != nil {
				return nil, err
			}
			n.files[string(a.Body)] = file
		}
		all[i] = answer{Path: "/" + file, Body: a.Body}
	}
	return all, nil
}

// freeAddress is an address on this machine that nothing listens on, for
// programs that cannot say which one they have chosen.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// errNone is the error of a measurement that has nothing to measure.
func errNone(only string) error {
	return errors.New("no scenario has " + strconv.Quote(strings.TrimSpace(only)) + " in its name: choose another --only")
}
