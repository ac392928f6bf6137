package server

import "github.com/gin-gonic/gin"

// Routes returns all mounted routes.
func (s *Server) Routes() gin.RoutesInfo { return s.engine.Routes() }

// Waiting returns the number of calls that wait for a ticket.
func (s *Server) Waiting() int { return s.hub.Following() }

// WaitingForSessions returns the number of game servers that wait for a change of their sessions.
func (s *Server) WaitingForSessions() int { return s.waitingServers() }
