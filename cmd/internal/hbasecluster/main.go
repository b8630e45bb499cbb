// Command hbasecluster runs an HBase of this machine for a command, or until it
// is interrupted:
//
//	hbasecluster -- go test ./cellstore/hbasestore
//	hbasecluster
//
// The command finds the comma-separated addresses of the Thrift2 gateways in QUADRILLE_HBASE, and
// that of the control process in QUADRILLE_HBASE_CONTROL. hbasecluster exits with the status of the
// command. If HBase cannot run because a JDK, Maven or HBase itself is missing, it prints this and
// exits with success, unless QUADRILLE_HBASE_REQUIRED is set.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"quadrille/cellstore/hbasestore/hbasetest"
)

func main() {
	dir := flag.String("dir", "",
		"where configuration, logs and data go, and stay; by default in a directory that is removed when all went well")
	session := flag.Duration("session", 0, "how long the master waits for a region server that has died")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, hbasetest.Options{Dir: *dir, SessionTimeout: *session}, flag.Args())
	stop()
	os.Exit(status)
}

func run(ctx context.Context, o hbasetest.Options, command []string) int {
	began := time.Now()
	c, err := hbasetest.Start(ctx, o)
	if errors.Is(err, hbasetest.ErrMissing) && os.Getenv("QUADRILLE_HBASE_REQUIRED") == "" {
		fmt.Printf("SKIPPED the tests with HBase: %v\n", err)
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hbasecluster:", err)
		return 1
	}
	env := []string{"QUADRILLE_HBASE=" + strings.Join(c.GatewayAddrs(), ","), "QUADRILLE_HBASE_CONTROL=" + c.ControlAddr()}
	fmt.Printf("HBase runs after %.0f s; logs are in %s\n", time.Since(began).Seconds(), c.LogDir())
	if len(command) == 0 {
		fmt.Println("export " + strings.Join(env, " "))
		<-ctx.Done()
		return ended(c.Close())
	}
	status := execute(ctx, command, env)
	if status != 0 && o.Dir == "" {
		fmt.Fprintf(os.Stderr, "hbasecluster: the command failed; logs are kept in %s\n", c.LogDir())
		return max(status, ended(c.Kill()))
	}
	return max(status, ended(c.Close()))
}

func ended(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "hbasecluster:", err)
		return 1
	}
	return 0
}

// execute runs the command and returns its status. It forwards an interrupt, and kills the command
// if it still runs after that.
func execute(ctx context.Context, command, env []string) int {
	ctx, cancel := orphaned(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "hbasecluster:", err)
	return 1
}

// orphaned returns a context that ends when the parent process has ended, because a killed "go run"
// does not end its program.
func orphaned(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	parent := os.Getppid()
	go func() {
		for ctx.Err() == nil {
			if os.Getppid() != parent {
				cancel()
			}
			time.Sleep(time.Second)
		}
	}()
	return ctx, cancel
}
