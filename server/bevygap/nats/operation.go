package nats

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Limits of what a client sends. The first is that of NATS itself.
const (
	maxLine    = 4096     // bytes of an operation without its payload
	maxPayload = 64 << 10 // bytes of a payload with its headers
	maxSubject = 512      // bytes
)

// What is wrong with an operation. The texts are NATS's, because clients compare them.
var (
	errLine      = errors.New("Maximum Control Line Exceeded")
	errPayload   = errors.New("Maximum Payload Violation")
	errOperation = errors.New("Unknown Protocol Operation")
	errParser    = errors.New("Parser Error")
)

// The operations of a client.
const (
	opConnect = "CONNECT"
	opPing    = "PING"
	opPong    = "PONG"
	opSub     = "SUB"
	opUnsub   = "UNSUB"
	opPub     = "PUB"
	opHPub    = "HPUB"
)

// operation is what a client has sent.
type operation struct {
	verb         string
	subject      string // of SUB, PUB and HPUB
	replySubject string // where the answer to PUB and HPUB goes; "": nobody waits for one
	sid          string // of SUB and UNSUB
	atMost       int    // messages after which UNSUB ends the subscription; 0: at once
	headers      []byte // of HPUB, with their first and last line
	payload      []byte // of PUB and HPUB, and the JSON of CONNECT
}

// operationReader reads the operations of a connection. Not safe for concurrent use.
type operationReader struct{ buffer *bufio.Reader }

func newOperationReader(r io.Reader) operationReader {
	return operationReader{bufio.NewReaderSize(r, maxLine)}
}

// read returns the next operation. Errors: those above; those of the connection.
func (r operationReader) read() (operation, error) {
	line, err := r.buffer.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return operation{}, errLine
	case err != nil:
		return operation{}, err
	}
	// The conversion copies the line, which the next read overwrites in the buffer.
	name, rest, _ := strings.Cut(strings.TrimRight(string(line), "\r\n"), " ")
	// NATS reads verbs in any case.
	name = strings.ToUpper(name)
	switch name {
	case opPing, opPong:
		return operation{verb: name}, nil
	case opConnect:
		return operation{verb: name, payload: []byte(rest)}, nil
	case opSub:
		return parseSubscribe(strings.Fields(rest))
	case opUnsub:
		return parseUnsubscribe(strings.Fields(rest))
	case opPub, opHPub:
		return r.readPublish(name, strings.Fields(rest))
	}
	return operation{}, errOperation
}

// parseSubscribe reads "<subject> [queue group] <sid>". Queue groups mean nothing here: all messages are for one
// connection.
func parseSubscribe(fields []string) (operation, error) {
	if len(fields) != 2 && len(fields) != 3 || !isSubject(fields[0]) {
		return operation{}, errParser
	}
	return operation{verb: opSub, subject: fields[0], sid: fields[len(fields)-1]}, nil
}

// parseUnsubscribe reads "<sid> [messages]".
func parseUnsubscribe(fields []string) (operation, error) {
	switch len(fields) {
	case 1:
		return operation{verb: opUnsub, sid: fields[0]}, nil
	case 2:
		atMost, err := parseCount(fields[1])
		return operation{verb: opUnsub, sid: fields[0], atMost: atMost}, err
	}
	return operation{}, errParser
}

// readPublish reads "<subject> [reply] [bytes of the headers] <bytes>" and then as many bytes.
func (r operationReader) readPublish(name string, fields []string) (operation, error) {
	sizes := 1 // how many fields are sizes
	if name == opHPub {
		sizes = 2
	}
	if len(fields) != 1+sizes && len(fields) != 2+sizes {
		return operation{}, errParser
	}
	op := operation{verb: name, subject: fields[0]}
	if len(fields) == 2+sizes {
		op.replySubject = fields[1]
	}
	total, err := parseCount(fields[len(fields)-1])
	if err != nil {
		return operation{}, err
	}
	ofHeaders := 0
	if name == opHPub {
		if ofHeaders, err = parseCount(fields[len(fields)-2]); err != nil {
			return operation{}, err
		}
	}
	switch {
	// The payload is not read, and would be parsed as operations if the connection did not end.
	case total > maxPayload:
		return operation{}, errPayload
	case ofHeaders > total, !isSubject(op.subject), op.replySubject != "" && !isSubject(op.replySubject):
		return operation{}, errParser
	}
	body, err := r.readPayload(total)
	if err != nil {
		return operation{}, err
	}
	op.headers, op.payload = body[:ofHeaders], body[ofHeaders:]
	return op, nil
}

// readPayload reads a payload and the end of its line. Memory grows with what arrives, not with what was announced.
func (r operationReader) readPayload(size int) ([]byte, error) {
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r.buffer, int64(size)); err != nil {
		return nil, err
	}
	for _, expected := range []byte("\r\n") {
		b, err := r.buffer.ReadByte()
		switch {
		case err != nil:
			return nil, err
		// The announced size was wrong: what follows cannot be told from another operation.
		case b != expected:
			return nil, errParser
		}
	}
	return body.Bytes(), nil
}

// parseCount reads a number of at most nine digits.
func parseCount(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	// As in NATS. Nine digits fit an int of any size.
	if err != nil || len(text) > 9 {
		return 0, errParser
	}
	return int(n), nil
}

// isSubject reports whether a text is a subject: printable, with no empty token. Wildcards count as text.
func isSubject(s string) bool {
	printable := strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
	return printable && len(s) <= maxSubject && !strings.HasPrefix(s, ".") && !strings.HasSuffix(s, ".") && s != "" &&
		!strings.Contains(s, "..")
}

// headerValue returns the last value of a header, "" if there is none.
func (o operation) headerValue(name string) (value string) {
	for line := range strings.Lines(string(o.headers)) {
		// The first line, NATS/1.0, has no colon.
		if key, text, found := strings.Cut(line, ":"); found && strings.EqualFold(key, name) {
			value = strings.TrimSpace(text)
		}
	}
	return value
}
