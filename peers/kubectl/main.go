// Command kubectl-session is kubectl for many commands: its own code, started once. Starting takes kubectl far longer than
// what tests mostly ask for.
//
// It reads one JSON object per line and writes one JSON object per line, in the same order:
//
//	{"arguments":["get","nodes"],"input":""}
//	{"code":0,"output":"...","error":""}
//
// "code" is what kubectl would have ended with, "output" and "error" what it would have printed. The program ends at the
// end of its input.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

type request struct {
	Arguments []string `json:"arguments"`
	Input     string   `json:"input"`
}

type answer struct {
	Code   int    `json:"code"`
	Output string `json:"output"`
	Error  string `json:"error"`
}

// exit is thrown where kubectl would end.
type exit struct{ code int }

func main() {
	// What it tells servers of itself.
	os.Args = []string{"kubectl"}
	requests := json.NewDecoder(bufio.NewReader(os.Stdin))
	answers := json.NewEncoder(os.Stdout)
	for {
		var asked request
		if err := requests.Decode(&asked); err == io.EOF {
			return
		} else if err != nil {
			fmt.Fprintln(os.Stderr, "no request:", err)
			os.Exit(2)
		}
		if err := answers.Encode(run(asked)); err != nil {
			os.Exit(1)
		}
	}
}

// run does what kubectl's main function does, but for the end.
func run(asked request) (told answer) {
	var output, complaints strings.Builder
	util.BehaviorOnFatal(func(message string, code int) {
		if message != "" && !strings.HasSuffix(message, "\n") {
			message += "\n"
		}
		complaints.WriteString(message)
		panic(exit{code})
	})
	defer func() {
		if thrown := recover(); thrown != nil {
			if end, isEnd := thrown.(exit); isEnd {
				told.Code = end.code
			} else {
				told.Code = 255
				fmt.Fprintln(&complaints, "panic:", thrown)
			}
		}
		told.Output, told.Error = output.String(), complaints.String()
	}()
	restore := feed(asked.Input)
	defer restore()
	command := cmd.NewKubectlCommand(cmd.KubectlOptions{
		Arguments:   append([]string{"kubectl"}, asked.Arguments...),
		ConfigFlags: genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50),
		IOStreams: genericiooptions.IOStreams{
			In: os.Stdin, Out: &output, ErrOut: &complaints,
		},
	})
	command.SetArgs(asked.Arguments)
	command.SetOut(&output)
	command.SetErr(&complaints)
	command.SilenceErrors, command.SilenceUsage = true, true
	util.CheckErr(command.Execute())
	return told
}

// feed makes a text what is read from standard input: kubectl looks there itself for "--filename -".
func feed(text string) func() {
	before := os.Stdin
	reader, writer, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	os.Stdin = reader
	go func() {
		// Who does not read it closes it.
		_, _ = io.WriteString(writer, text)
		_ = writer.Close()
	}()
	return func() {
		os.Stdin = before
		_ = reader.Close()
	}
}
