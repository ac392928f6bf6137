package realtime

import "maps"

// allRPCs returns the RPCs by message type.
func (s *Server) allRPCs() map[string]rpc {
	all := map[string]rpc{}
	for _, group := range []map[string]rpc{s.roomRPCs(), s.relayRPCs(), matchmakingRPCs(), blockRPCs(), messageRPCs()} {
		maps.Copy(all, group)
	}
	return all
}

// roomRPCs returns the RPCs of rooms.
func (s *Server) roomRPCs() map[string]rpc {
	return map[string]rpc{
		"room.join_or_create": joinRoom,
		"room.leave":          leaveRoom,
		"room.join":           joinByCode,
		"room.code":           shareCode,
		"room.update":         updateRoom,
		"room.list":           listRooms,
		"room.unlist":         unlistRooms,
		"room.history":        listRoomMessages,
		"room.message":        sendMessage,
		"room.plugin.call":    sendMessage,
		"room.message.bytes":  sendRoomBytes,
		"state.resync":        resyncRoom,
	}
}
