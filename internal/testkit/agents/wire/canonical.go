package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Hash returns the first 8 bytes of the SHA-256 of the canonical JSON of a snapshot, in lower-case hex. Agents compute
// it so that an orchestrator can ask whether anything has changed.
func (s Snapshot) Hash() string {
	sum := sha256.Sum256(s.canonicalJSON())
	return hex.EncodeToString(sum[:8])
}

// canonicalJSON is JSON with the keys of each object in the order of CompareTexts, without white space.
func (s Snapshot) canonicalJSON() []byte {
	b := appendString([]byte(`{"agentVersion":`), s.AgentVersion)
	b = strconv.AppendBool(append(b, `,"autoCreate":`...), s.AutoCreate)
	b = appendNullable(append(b, `,"capacity":{"maxConnections":`...), s.MaxConnections)
	b = appendNullable(append(b, `,"maxRooms":`...), s.MaxRooms)
	b = appendString(append(b, `},"endpointUrl":`...), s.EndpointURL)
	b = appendList(append(b, `,"labels":{`...), s.sortedLabels(), func(b []byte, key string) []byte {
		return appendString(append(appendString(b, key), ':'), s.Labels[key])
	})
	b = appendString(append(b, `},"name":`...), s.Name)
	b = appendString(append(b, `,"processUid":`...), s.ProcessUID)
	b = strconv.AppendUint(append(b, `,"protocolVersion":`...), uint64(s.ProtocolVersion), 10)
	b = appendList(append(b, `,"roomTypes":[`...), s.RoomTypes, appendString)
	b = appendList(append(b, `],"rooms":[`...), s.Rooms, appendRoom)
	b = appendString(append(b, `],"status":`...), s.Status)
	return append(b, '}')
}

func appendRoom(b []byte, r Room) []byte {
	b = strconv.AppendUint(append(b, `{"connections":`...), uint64(r.Connections), 10)
	b = appendString(append(b, `,"id":`...), r.ID)
	b = appendString(append(b, `,"origin":`...), r.Origin)
	b = appendString(append(b, `,"type":`...), r.Type)
	return append(b, '}')
}

// appendList writes the elements of a list, with commas between them.
func appendList[T any](b []byte, list []T, element func([]byte, T) []byte) []byte {
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = element(b, e)
	}
	return b
}

// appendNullable writes a number, or null.
func appendNullable(b []byte, limit *int32) []byte {
	if limit == nil {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, int64(*limit), 10)
}

// escapes are what JSON.stringify writes in two characters, by code unit.
var escapes = map[uint16]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

// appendString writes a string as JSON.stringify does, which escapes only what JSON requires.
func appendString(b []byte, text string) []byte {
	b = append(b, '"')
	for rest := utf16Units(text); len(rest) > 0; {
		first := rest[0]
		rest = rest[1:]
		switch escape, hasEscape := escapes[first]; {
		case hasEscape:
			b = append(b, escape...)
		case first < ' ':
			b = fmt.Appendf(b, `\u%04x`, first)
		case !utf16.IsSurrogate(rune(first)):
			b = utf8.AppendRune(b, rune(first))
		case len(rest) > 0 && utf16.DecodeRune(rune(first), rune(rest[0])) != utf8.RuneError:
			b = utf8.AppendRune(b, utf16.DecodeRune(rune(first), rune(rest[0])))
			rest = rest[1:]
		default:
			b = fmt.Appendf(b, `\u%04x`, first) // a lone surrogate
		}
	}
	return append(b, '"')
}

// CompareTexts orders texts as JavaScript does, by UTF-16 code units.
func CompareTexts(a, b string) int { return slices.Compare(utf16Units(a), utf16Units(b)) }

func (s Snapshot) sortedLabels() []string {
	return slices.SortedFunc(maps.Keys(s.Labels), CompareTexts)
}

// utf16Units returns the UTF-16 code units of a text.
func utf16Units(text string) []uint16 {
	u := make([]uint16, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if unit, isLone := loneSurrogate(text); isLone {
			u = append(u, unit)
			size = 3 // for DecodeRuneInString they are three invalid bytes
		} else {
			u = utf16.AppendRune(u, r)
		}
		text = text[size:]
	}
	return u
}

// loneSurrogate returns the code unit of a surrogate that begins a text in three bytes, which are not valid UTF-8;
// false: the text begins with something else.
func loneSurrogate(text string) (unit uint16, isLone bool) {
	if len(text) < 3 || text[0] != 0xED || text[1]&0xE0 != 0xA0 || text[2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | uint16(text[1]&0x3F)<<6 | uint16(text[2]&0x3F), true
}
