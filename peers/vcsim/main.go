// Command vcsim is a vCenter for tests: the govmomi simulator with an
// inventory taken from JSON, real logins, privileges that are evaluated, a
// request log and replayable faults. See README.md.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "vcsim:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var opts options
	var notAfter string
	var withParent, verbose bool
	flags := flag.NewFlagSet("vcsim", flag.ContinueOnError)
	flags.StringVar(&opts.listen, "listen", "127.0.0.1:0", "address to serve on, IPv4 or [IPv6]")
	flags.StringVar(&opts.inventory, "inventory", "", "JSON `file` that describes the estate")
	flags.StringVar(&opts.readyFile, "ready-file", "", "`file` to write, as JSON, once serving")
	flags.StringVar(&opts.caFile, "ca-file", "", "`file` for the CA certificate (default: the ready file's name and .ca.pem)")
	flags.Func("tls-name", "further `name` or address in the certificate; repeatable", func(s string) error {
		opts.tlsNames = append(opts.tlsNames, s)
		return nil
	})
	flags.StringVar(&notAfter, "tls-not-after", "", "end of the certificate's validity, RFC 3339 or a duration from now (-1h)")
	flags.StringVar(&opts.home, "home", "", "`folder` for the files of datastores, kept while it runs (default: the system's; /dev/shm is faster)")
	flags.BoolVar(&withParent, "exit-with-parent", false, "end when standard input closes")
	flags.BoolVar(&verbose, "verbose", false, "print the simulator's own messages")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if notAfter != "" {
		if d, err := time.ParseDuration(notAfter); err == nil {
			opts.notAfter = time.Now().Add(d)
		} else if opts.notAfter, err = time.Parse(time.RFC3339, notAfter); err != nil {
			return fmt.Errorf("--tls-not-after: %w", err)
		}
	}
	if !verbose {
		log.SetOutput(io.Discard)
	}

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	s, err := start(opts)
	if err != nil {
		return err
	}
	defer s.close()
	if opts.readyFile == "" {
		fmt.Printf("url %s\ncontrol %s\nca %s\n", s.ready.URL, s.ready.ControlURL, s.ready.CAFile)
	}
	if withParent {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			s.stop()
		}()
	}
	select {
	case <-signals:
	case <-s.stopped:
	}
	return nil
}
