package wire

import (
	"encoding/binary"
	"slices"
)

// The wire types of protobuf that the protocol uses.
const (
	varintType = 0
	bytesType  = 2
)

// Frame returns the WebSocket message of a state.
func (s State) Frame() []byte {
	b := appendText(nil, 1, s.ReqID)
	b = appendBool(b, 2, s.IsFull)
	b = appendVarint(b, 3, uint64(s.Seq))
	b = appendText(b, 4, s.Hash)
	if s.IsFull {
		b = s.Snapshot.appendTo(b)
	}
	return frameOf(TopicState, b)
}

func (s Snapshot) appendTo(b []byte) []byte {
	b = appendText(b, 5, s.Name)
	b = appendText(b, 6, s.ProcessUID)
	b = appendText(b, 7, s.AgentVersion)
	b = appendVarint(b, 8, uint64(s.ProtocolVersion))
	b = appendText(b, 9, s.EndpointURL)
	for _, key := range s.sortedLabels() {
		b = appendBytes(b, 10, appendText(appendText(nil, 1, key), 2, s.Labels[key]))
	}
	b = appendBytes(b, 11, appendLimit(appendLimit(nil, 1, s.MaxConnections), 2, s.MaxRooms))
	b = appendBool(b, 12, s.AutoCreate)
	for _, kind := range s.RoomTypes {
		b = appendText(b, 13, kind)
	}
	for _, room := range s.Rooms {
		b = appendBytes(b, 14, room.appendTo(nil))
	}
	return appendText(b, 15, s.Status)
}

func (r Room) appendTo(b []byte) []byte {
	b = appendText(b, 1, r.ID)
	b = appendText(b, 2, r.Type)
	b = appendVarint(b, 3, uint64(r.Connections))
	return appendText(b, 4, r.Origin)
}

// Frame returns the WebSocket message of an ack. Fields that do not belong to the outcome are left out.
func (a Ack) Frame() []byte {
	b := appendText(nil, 1, a.CommandID)
	b = appendBool(b, 2, a.OK)
	if !a.OK {
		b = appendText(b, 3, a.Error)
	}
	if a.AlreadyGone {
		b = appendBool(b, 4, true)
	}
	if a.Room != nil {
		b = appendBytes(b, 5, appendText(appendText(nil, 1, a.Room.ID), 2, a.Room.Type))
	}
	if a.Exists {
		b = appendBool(b, 6, true)
	}
	return frameOf(TopicAck, b)
}

// frameOf wraps the body of a message: the topic, then the major and the minor version of the protocol in front of the
// body.
func frameOf(topic string, body []byte) []byte {
	return appendBytes(appendText(nil, 1, topic), 2, slices.Concat([]byte{Version, 0}, body))
}

func appendTag(b []byte, field, wireType uint64) []byte {
	return binary.AppendUvarint(b, field<<3|wireType)
}

func appendVarint(b []byte, field, value uint64) []byte {
	return binary.AppendUvarint(appendTag(b, field, varintType), value)
}

func appendBool(b []byte, field uint64, value bool) []byte {
	if value {
		return appendVarint(b, field, 1)
	}
	return appendVarint(b, field, 0)
}

// appendLimit writes an int32 as protobuf does: a negative one takes ten bytes.
func appendLimit(b []byte, field uint64, limit *int32) []byte {
	if limit == nil {
		return b
	}
	return appendVarint(b, field, uint64(int64(*limit)))
}

func appendBytes(b []byte, field uint64, value []byte) []byte {
	b = binary.AppendUvarint(appendTag(b, field, bytesType), uint64(len(value)))
	return append(b, value...)
}

func appendText(b []byte, field uint64, value string) []byte {
	return appendBytes(b, field, []byte(value))
}
