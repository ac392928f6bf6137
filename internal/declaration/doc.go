// Package declaration reads what operators declare in files, for `director apply`: profiles, and documents with app
// versions, pools and projects. It finds the files, says what is wrong with them before a database is asked, and knows
// where a value stands that the database refuses.
package declaration
