package storetest

var orderRules = []rule{
	{id: "O1", name: "rows sort as bytes", script: `
create t f
put t 1 f:q@1=1
put t 2 f:q@1=2
put t 7 f:q@1=7
put t 12 f:q@1=12
put t 119 f:q@1=119
scan t
  1 f:q@1=1
  119 f:q@1=119
  12 f:q@1=12
  2 f:q@1=2
  7 f:q@1=7
`},
	{id: "O1", name: "bytes compare unsigned and a prefix comes first", script: `
create t f
put t "\xff" f:""@1=1
put t "\x80" f:""@1=1
put t "\x7f" f:""@1=1
put t a f:"\xff"@1=6 f:"\x80"@1=5 f:a@1=2 f:"a\x00"@1=3 f:b@1=4 f:""@1=1
put t "a\x00" f:""@1=1
put t aa f:""@1=1
put t A f:""@1=1
scan t
  A f:""@1=1
  a f:""@1=1 f:a@1=2 f:"a\x00"@1=3 f:b@1=4 f:"\x80"@1=5 f:"\xff"@1=6
  "a\x00" f:""@1=1
  aa f:""@1=1
  "\x7f" f:""@1=1
  "\x80" f:""@1=1
  "\xff" f:""@1=1
`},
	{id: "O1", name: "cells of a row by family, qualifier and newest first", script: `
create t b{versions=all} a.b{versions=all} a{versions=all} Z _x
put t r b:q@1=1 b:q@9=9 b:q@5=5 a:z@1=1 a:y@2=2 a.b:q@3=3 Z:q@1=1 _x:q@1=1
get t r versions=all
  r Z:q@1=1 _x:q@1=1 a:y@2=2 a:z@1=1 a.b:q@3=3 b:q@9=9 b:q@5=5 b:q@1=1
scan t versions=2 reverse
  r Z:q@1=1 _x:q@1=1 a:y@2=2 a:z@1=1 a.b:q@3=3 b:q@9=9 b:q@5=5
`},
	{id: "O1", name: "large timestamps", script: `
create t f{versions=all}
put t r f:q@0=0 f:q@max=m f:q@4294967296=c f:q@255=a f:q@256=b f:q@9223372036854775806=n
get t r versions=all
  r f:q@max=n f:q@4294967296=c f:q@256=b f:q@255=a f:q@0=0
`},
	{id: "O2", name: "an empty end is that end of the table", script: `
create t f
put t "\x00" f:q@1=1
put t m f:q@1=2
put t "\xff\xff\xff" f:q@1=3
scan t [,)
  "\x00" f:q@1=1
  m f:q@1=2
  "\xff\xff\xff" f:q@1=3
scan t [,m)
  "\x00" f:q@1=1
scan t [m,)
  m f:q@1=2
  "\xff\xff\xff" f:q@1=3
scan t [,] reverse
  "\xff\xff\xff" f:q@1=3
  m f:q@1=2
  "\x00" f:q@1=1
scan t [,m) reverse
  "\xff\xff\xff" f:q@1=3
scan t [m,) reverse
  m f:q@1=2
  "\x00" f:q@1=1
next t
  "\x00" f:q@1=1
prev t
  "\xff\xff\xff" f:q@1=3
next t from=n
  "\xff\xff\xff" f:q@1=3
prev t from=l
  "\x00" f:q@1=1
`},
}
