package server

import "github.com/gin-gonic/gin"

// Routes returns all mounted routes.
func (s *Server) Routes() gin.RoutesInfo { return s.engine.Routes() }
