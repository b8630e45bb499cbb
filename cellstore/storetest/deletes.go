package storetest

var deleteRules = []rule{
	{id: "D1", name: "one version", script: `
create t f{versions=all} g{versions=all}
put t r f:q@1=1 f:q@3=3 f:q@5=5 f:p@3=p g:q@3=g
put t s f:q@3=s
put t r -f:q@3
get t r versions=all
  r f:p@3=p f:q@5=5 f:q@1=1 g:q@3=g
put t r -f:q@4
get t r f:q versions=all
  r f:q@5=5 f:q@1=1
put t r -f:q
get t r versions=all
  r f:p@3=p f:q@1=1 g:q@3=g
get t s
  s f:q@3=s
put t s f:q@max=future
put t s -f:q
get t s versions=all
  s f:q@3=s
`},
	{id: "D1", name: "a column up to a timestamp", script: `
create t f{versions=all} g{versions=all}
put t r f:q@1=1 f:q@3=3 f:q@5=5 f:p@3=p f:qq@3=qq g:q@3=g
put t r -f:q<=3
get t r versions=all
  r f:p@3=p f:q@5=5 f:qq@3=qq g:q@3=g
put t r -f:p<=2
get t r versions=all
  r f:p@3=p f:q@5=5 f:qq@3=qq g:q@3=g
put t r -f:q<=max
get t r versions=all
  r f:p@3=p f:qq@3=qq g:q@3=g
`},
	{id: "D1", name: "a family up to a timestamp", script: `
create t f{versions=all} g{versions=all}
put t r f:a@1=1 f:a@3=3 f:b@2=2 f:c@4=4 g:a@1=g
put t s f:a@1=s
put t r -f<=2
get t r versions=all
  r f:a@3=3 f:c@4=4 g:a@1=g
put t r -f<=all
get t r versions=all
  r g:a@1=g
get t s
  s f:a@1=s
`},
	{id: "D1", name: "one version of a family", script: `
create t f{versions=all} g{versions=all}
put t r f:a@1=1 f:a@3=3 f:b@3=2 f:c@4=4 g:a@3=g
put t r -f@3
get t r versions=all
  r f:a@1=1 f:c@4=4 g:a@3=g
put t r -f@7
get t r versions=all
  r f:a@1=1 f:c@4=4 g:a@3=g
`},
	{id: "D1", name: "a row up to a timestamp", script: `
create t f{versions=all} g
put t r f:a@1=1 f:a@3=3 g:a@2=g
put t rr f:a@1=1
put t r -*<=2
get t r versions=all
  r f:a@3=3
put t r -*<=all
get t r
  none
scan t
  rr f:a@1=1
`},
	{id: "D2", name: "without a timestamp the bound is the clock", needs: []need{clock}, script: `
create t f{versions=all} g
put t r f:q@1=1 f:q=now f:q@now+1ms=future g:q@now+5s=future
put t r -f:q<=now
get t r versions=all
  r f:q@1000001=future g:q@1005000=future
put t r -f<=now -*<=now
get t r versions=all
  r f:q@1000001=future g:q@1005000=future
clock 1ms
put t r -f<=now
get t r
  r g:q@1005000=future
clock 5s
put t r -*<=now
get t r
  none
`},
	{id: "D2", name: "cells dated in the future survive but for All", script: `
create t f{versions=all} g
put t r f:q=now f:q@now+10h=later f:p@now+10h=later g:q=now
put t s f:q@now+10h=later g:q@max=last
put t r -*<=now
get t r notime versions=all
  r f:p=later f:q=later
put t r -f:q<=all
get t r notime
  r f:p=later
put t r -f<=all
put t s -*<=all
scan t
  none
`},
	{id: "D3", name: "deleting nothing succeeds", script: `
create t f
put t r -f:q
put t r -f:q@5
put t r -f:q<=all
put t r -f<=now
put t r -f@3
put t r -*<=all
scan t
  none
put t r f:q@5=x
put t r -f:p -f:q@4 -f@6 -f:q<=4 -*<=4
get t r
  r f:q@5=x
`},
	{id: "D4", name: "a delete does not mask later puts", needs: []need{eager}, script: `
create t f{versions=all}
put t r -f:q<=10
put t r f:q@5=5
get t r
  r f:q@5=5
put t r -f:q@5
put t r f:q@5=again
get t r
  r f:q@5=again
put t r -f<=all
put t r f:q@4=4 f:p@max=p
get t r
  r f:p@max=p f:q@4=4
put t r -*<=all
put t r f:q@3=3
get t r versions=all
  r f:q@3=3
put t r -f@3
put t r f:q@3=33
get t r versions=all
  r f:q@3=33
`},
	{id: "D4", name: "nor puts after it in its own mutation", needs: []need{eager, mixedMutation}, script: `
create t f{versions=all} g
put t r f:old@1=x f:q@9=9 g:q@2=2
put t r -*<=all f:q@3=new
get t r versions=all
  r f:q@3=new
put t r f:q@2=a -f:q<=5 f:q@1=b
get t r versions=all
  r f:q@1=b
`},
	{id: "D4", name: "later puts with larger timestamps show", script: `
create t f{versions=all} g
put t r f:q@1=1 f:q@2=2 g:q@1=1
put t r -f:q<=2
put t r f:q@3=3
get t r versions=all
  r f:q@3=3 g:q@1=1
put t r -*<=5
put t r f:q@6=6 g:q@7=7
get t r versions=all
  r f:q@6=6 g:q@7=7
put t r -f@6
put t r f:q@8=8
get t r versions=all
  r f:q@8=8 g:q@7=7
`},
	{id: "D5", name: "explicit deletes beat MinVersions", needs: []need{clock}, script: `
create t f{versions=5,min=2,ttl=1s}
put t r f:q@1=1 f:q@2=2 f:q@3=3 f:q@now=new
get t r versions=all
  r f:q@1000000=new f:q@3=3
put t r -f:q<=3
get t r versions=all
  r f:q@1000000=new
put t r -f<=all
get t r versions=all
  none
`},
	// The same for backends whose clock cannot be set.
	{id: "D5", name: "explicit deletes beat MinVersions whatever the clock", script: `
create t f{versions=5,min=2,ttl=2s}
put t r f:q@1=1 f:q@2=2 f:q@3=3
get t r versions=all
  r f:q@3=3 f:q@2=2
put t r -f:q<=2
get t r versions=all
  r f:q@3=3
put t r -f<=all
get t r versions=all
  none
`},
	{id: "D5", name: "deleted data is unreachable", script: `
create t f{versions=all}
put t r f:a@1=1 f:a@2=2 f:b@3=3
put t s f:a@1=1
put t r -*<=all
get t r
  none
get t r time=[1,2) versions=all
  none
get t r f:a
  none
next t
  s f:a@1=1
prev t from=rr
  none
nexteach t f:
  f: s f:a@1=1
multiget t r
  r (none)
scan t time=[0,9)
  s f:a@1=1
check t r f:a absent ; f:c@9=9
  applied
`},
}

var ttlRules = []rule{
	{id: "T1", name: "a cell older than TTL is invisible at once", needs: []need{clock}, script: `
create t f{versions=all,ttl=10s} g
put t r f:q@now-10s=edge f:q@now-9s=young f:q@now-10001ms=old g:q@1=g
get t r versions=all notime
  r f:q=young f:q=edge g:q=g
clock 1ms
get t r versions=all notime
  r f:q=young g:q=g
get t r f: time=[0,995000)
  r f:q@991000=young
get t r f: time=[0,991000)
  none
clock 1s
get t r f:
  none
get t r f: versions=all time=[0,all)
  none
next t f:
  none
prev t f:
  none
scan t f:
  none
nexteach t f: g:
  f: none
  g: r g:q@1=g
multiget t r ; f:
  r (none)
check t r f:q present ; g:q@2=g
  refused
check t r f:q absent ; f:q=again
  applied
get t r f: notime
  r f:q=again
`},
	// The same by waiting, for backends whose clock cannot be set.
	{id: "T1", name: "a cell expires", script: `
create t f{ttl=2s} g
put t r f:q=x g:q=y
get t r notime
  r f:q=x g:q=y
clock 3s
get t r notime
  r g:q=y
scan t f:
  none
`},
	{id: "T1", name: "cells dated in the future expire later", needs: []need{clock}, script: `
create t f{ttl=1s}
put t r f:q@now+5s=x
clock 6s
get t r notime
  r f:q=x
clock 1ms
get t r notime
  none
put t r f:q@max=x
clock 1000h
get t r
  r f:q@max=x
`},
	{id: "T1", name: "a cell dated in the future does not expire with the others", script: `
create t f{ttl=1s}
put t r f:p@now=x f:q@now+1h=y
clock 3s
get t r notime
  r f:q=y
`},
	{id: "T2", name: "the newest versions outlive TTL", needs: []need{clock}, script: `
create t f{versions=all,ttl=1s,min=2}
put t r f:q@1=1 f:q@2=2 f:q@3=3 f:q@4=4 f:p@7=7
get t r versions=all
  r f:p@7=7 f:q@4=4 f:q@3=3
get t r versions=all time=[0,3)
  none
get t r time=[0,4)
  r f:q@3=3
put t r f:q=new
get t r versions=all
  r f:p@7=7 f:q@1000000=new f:q@4=4
clock 2s
get t r versions=all
  r f:p@7=7 f:q@1000000=new f:q@4=4
put t r f:q=newer f:q@now-1ms=new-too
get t r versions=all f:q notime
  r f:q=newer f:q=new-too
`},
	{id: "T2", name: "old versions are old whatever the clock", script: `
create t f{versions=all,ttl=2s,min=2}
put t r f:q@1=1 f:q@2=2 f:q@3=3 f:q@4=4
get t r versions=all
  r f:q@4=4 f:q@3=3
`},
	{id: "T2", name: "MinVersions does not exceed MaxVersions", script: `
create t f{versions=3,ttl=1s,min=3}
put t r f:q@1=1 f:q@2=2 f:q@3=3 f:q@4=4 f:q@5=5
get t r versions=all
  r f:q@5=5 f:q@4=4 f:q@3=3
`},
	{id: "T3", name: "a put that is expired already", script: `
create t f{ttl=1s} g{ttl=1s,min=1}
put t r f:q@5=old g:q@5=old
get t r
  r g:q@5=old
get t r f:
  none
put t r f:q=new
get t r f: notime
  r f:q=new
put t r f:q@6=old
get t r f: notime
  r f:q=new
`},
}
