package roster

import (
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/lattice-director/director/db"
)

// The JSON of Rivalis' REST API is written here and not by encoding/json, because its bytes are hashed, its lists are
// concatenated from parts, and JavaScript's JSON.stringify escapes less. Keys are in the order of the fields of
// db.InstanceInfo and db.RoomInfo.

// AppendInstanceInfo appends the JSON of an instance that was read from the database.
func AppendInstanceInfo(b []byte, i *db.InstanceInfo) []byte {
	b = appendInstanceHead(b, i, func(int, int) {})
	return appendInstanceTail(appendLastSync(b, i.LastSyncAt), i)
}

// appendInstanceHead appends the JSON of an instance up to lastSyncAt, and calls room with the offsets in b of each of
// its rooms.
func appendInstanceHead(b []byte, i *db.InstanceInfo, room func(from, to int)) []byte {
	b = appendString(append(b, `{"id":`...), i.ID)
	b = appendString(append(b, `,"name":`...), i.Name)
	b = appendString(append(b, `,"processUid":`...), i.ProcessUID)
	b = appendString(append(b, `,"endpointUrl":`...), i.EndpointURL)
	b = appendList(append(b, `,"labels":{`...), slices.Sorted(maps.Keys(i.Labels)), func(b []byte, key string) []byte {
		return appendString(append(appendString(b, key), ':'), i.Labels[key])
	})
	b = appendList(append(b, `},"roomTypes":[`...), i.RoomTypes, appendString)
	b = appendList(append(b, `],"rooms":[`...), i.Rooms, func(b []byte, r db.RoomInfo) []byte {
		from := len(b)
		b = AppendRoomInfo(b, &r)
		room(from, len(b))
		return b
	})
	b = strconv.AppendInt(append(b, `],"connections":`...), i.Connections, 10)
	b = appendNullable(append(b, `,"capacity":{"maxConnections":`...), i.Capacity.MaxConnections)
	b = appendNullable(append(b, `,"maxRooms":`...), i.Capacity.MaxRooms)
	b = strconv.AppendBool(append(b, `},"autoCreate":`...), i.AutoCreate)
	return appendString(append(b, `,"status":`...), i.Status)
}

// appendInstanceTail appends the JSON of an instance after lastSyncAt.
func appendInstanceTail(b []byte, i *db.InstanceInfo) []byte {
	b = appendString(append(b, `,"agentVersion":`...), i.AgentVersion)
	return append(strconv.AppendInt(append(b, `,"protocolVersion":`...), i.ProtocolVersion, 10), '}')
}

func appendLastSync(b []byte, at int64) []byte {
	return strconv.AppendInt(append(b, `,"lastSyncAt":`...), at, 10)
}

// AppendRoomInfo appends the JSON of a room that was read from the database.
func AppendRoomInfo(b []byte, r *db.RoomInfo) []byte {
	b = appendString(append(b, `{"id":`...), r.ID)
	b = appendString(append(b, `,"type":`...), r.Type)
	b = strconv.AppendInt(append(b, `,"connections":`...), int64(r.Connections), 10)
	b = appendString(append(b, `,"instanceId":`...), r.InstanceID)
	b = appendString(append(b, `,"endpointUrl":`...), r.EndpointURL)
	return append(strconv.AppendBool(append(b, `,"local":`...), r.Local), '}')
}

func appendList[T any](b []byte, list []T, element func([]byte, T) []byte) []byte {
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = element(b, e)
	}
	return b
}

func appendNullable(b []byte, limit *int32) []byte {
	if limit == nil {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, int64(*limit), 10)
}

const hexDigits = "0123456789abcdef"

var shortEscapes = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// appendString appends a string that is valid UTF-8, as JSON.stringify does: only what JSON requires is escaped.
func appendString(b []byte, text string) []byte {
	b = append(b, '"')
	from := 0
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf || c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, text[from:i]...)
		from = i + 1
		if short := shortEscapes[c]; short != 0 {
			b = append(b, '\\', short)
		} else {
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(b, text[from:]...), '"')
}
