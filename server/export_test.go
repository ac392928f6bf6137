package server

import "github.com/gin-gonic/gin"

// Routes are all routes that are mounted.
func (s *Server) Routes() gin.RoutesInfo { return s.engine.Routes() }
