package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"quadrille/cmd/internal/configfile"
	"quadrille/cmd/internal/variables"
	"quadrille/cmd/tileserver/internal/httpapi"
)

// inspect runs the commands that show or check the configuration.
func (c *config) inspect(stdout io.Writer) error {
	if c.command == "config print" {
		return configfile.Print(stdout, c.settings)
	}
	if err := c.check(); err != nil {
		return &usageError{err}
	}
	_, err := fmt.Fprintln(stdout, "The configuration can be used.")
	return err
}

// check reads the files that the settings name, like a starting server.
func (c *config) check() error {
	terr := c.checkCertificate()
	derr := error(nil)
	if st, err := os.Stat(c.Data); err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && !st.IsDir() {
		derr = fmt.Errorf("--data: %s is not a directory that can be read: name the one that ingest fills", c.Data)
	}
	_, closing, ferr := c.openFaces(context.Background(), &httpapi.Config{}, slog.New(slog.DiscardHandler))
	ferr = errors.Join(ferr, closing())
	gerr := error(nil)
	if c.Guard.Keys != "" {
		_, gerr = c.Guard.readKeys()
	}
	return errors.Join(append(variables.Unknown(os.Environ()), terr, gerr, derr, ferr)...)
}
