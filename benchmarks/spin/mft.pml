/* MFT-PubSub under the printed readings (TR19 Algorithms 1-2, 5-7), for the scenarios that generate.py can express.
 * It is the transition system of `mft-pubsub` there: one step is one d_step, that is one transition of Spin, and everything
 * that is no part of a state is hidden.  SUB, UNS and MIG are left out, since nobody sends them in these scenarios, and so
 * are the parents, which are a function of the rest.
 *
 * scenario.h, written by generate.py, has the sizes, the tables and the list of steps.  Every subscriber has one filter, so that
 * a broker's R is one next hop for each subscriber.  State, for broker b and subscriber i:
 *   R[b,i]   next hop 0..6, or LOCAL         T[b,i]  t*16+h, the newest timestamp and the hops
 *   Q[b,i]   queued events, as base-8 digits e+1, the oldest highest; rec[i]: those received, likewise
 *   nb[b]    bit mask of neighbours
 * Message: kh = kind*32+h, and fields m:
 *   PUB  m0 = e+1                REP    m0 = e+1, m1 = i
 *   BSUB m0 = i, m1 = t*16+h     BQUERY likewise
 *   BMIG m[i] = class*64+t*16+h, class 0: i is absent, 1: i is in C, 2: i is in O
 * Bounds, each an error of the run when it is exceeded: channel capacity (a blocked d_step), h < 16, the digits of a queue.
 */
#include "scenario.h"

#define LOCAL   7
#define NOBODY  8       /* a publisher, as the sender of a PUB */
#define PUB     1
#define REP     2
#define BMIG    3
#define BSUB    4
#define BQUERY  5

#define X(b,i)     ((b)*NS+(i))
#define UP(b,y)    ((nb[b]>>(y))&1)
#define WANTS(e,i) ((wanted[e]>>(i))&1)
#define APPEND(x,digit) assert((x) < QFULL); x = (x)*8+(digit)

/* channels 0..NSMALL-1 hold SMALL messages, the rest LARGE: the smaller the state vector, the faster */
#if NLARGE==0
#define SEND(c,word,...) qs[c]!word,__VA_ARGS__
#else
#define SEND(c,word,...) if :: (c)<NSMALL -> qs[c]!word,__VA_ARGS__ :: else -> ql[(c)-NSMALL]!word,__VA_ARGS__ fi
#endif
/* v sends to each broker of the bit mask `to` but u */
#define FORWARD(to,word,...) y = 0; \
	do \
	:: ((to)>>y) == 0 -> break \
	:: else -> \
		if :: y != u && ((to)>>y)&1 -> SEND(CH[v*8+y], word, __VA_ARGS__) :: else fi; \
		y++ \
	od

chan qs[NSMALL] = [SMALL] of { byte, FIELD_TYPES };
#if NLARGE>0
chan ql[NLARGE] = [LARGE] of { byte, FIELD_TYPES };
#endif
byte R[NB*NS]  = { R_START };
byte T[NB*NS]  = { T_START };
QTYPE Q[NB*NS];
QTYPE rec[NS];
byte nb[NB]    = { NB_START };
byte done;              /* bit mask of the events that are published */
byte at[NMOVERS];       /* of each broker that moves: 0 where it was, 1 its link has fallen, 2 where it goes */

/* constants */
hidden byte SRC[NSMALL+NLARGE] = { SRC_TABLE };
hidden byte DST[NSMALL+NLARGE] = { DST_TABLE };
hidden byte CH[64]      = { CH_TABLE };         /* CH[from*8+to], 255: no such channel */
hidden int wanted[NE]   = { WANTED_TABLE };     /* bit mask of the subscribers that an event matches */

/* temporaries: broker v receives kh, m from u */
hidden byte kh, m[NF], ci[NF], u, v, c, i, y, set, kind, h, t, hj, e, old, new, k;
hidden int  qq;

/* v tells u what it knows of subscriber s */
inline tell(s) { SEND(CH[v*8+u], BSUB*32, TWO(s,T[X(v,s)])) }

/* sendQueuedMessages(s, z) */
inline flush(s, z) {
	if
	:: Q[X(v,s)] != 0 && UP(v,z) ->
		qq = Q[X(v,s)]; k = 0;
		do :: (qq>>(k+3)) != 0 -> k = k+3 :: else -> break od;
		do
		:: SEND(CH[v*8+z], REP*32, TWO((qq>>k)&7,s));
			if :: k == 0 -> break :: else -> k = k-3 fi
		od;
		Q[X(v,s)] = 0; qq = 0
	:: else
	fi
}

/* event ev reaches v from u */
inline on_pub(ev) {
	set = 0; i = 0;
	do
	:: i < NS ->
		if
		:: WANTS(ev,i) && R[X(v,i)] != u ->
			y = R[X(v,i)];
			if
			:: y == LOCAL -> APPEND(rec[i],ev+1)
			:: else ->
				if :: UP(v,y) -> set = set | (1<<y)
				   :: else -> APPEND(Q[X(v,i)],ev+1)
				fi
			fi
		:: else
		fi;
		i++
	:: else -> break
	od;
	FORWARD(set, PUB*32, ONE(ev+1))
}

inline on_rep() {
	i = m[1]; y = R[X(v,i)];
	if
	:: y == LOCAL -> APPEND(rec[i],m[0])
	:: else ->
		if :: UP(v,y) -> SEND(CH[v*8+y], REP*32, TWO(m[0],i))
		   :: else -> APPEND(Q[X(v,i)],m[0])
		fi
	fi
}

inline on_bmig() {
	i = 0;
	do			/* the children C; ci: those that are passed on */
	:: i < NS ->
		ci[i] = 0;
		if
		:: (m[i]>>6) == 1 ->
			t = (m[i]>>4)&3; hj = m[i]&15;
			if
			:: t > (T[X(v,i)]>>4) ->
				SEND(CH[v*8+u], BQUERY*32, TWO(i,T[X(v,i)]));
				ci[i] = 64 + (T[X(v,i)]&48) + hj
			:: t < (T[X(v,i)]>>4) -> tell(i)
			:: else ->
				if
				:: h <= (T[X(v,i)]&15) ->
					ci[i] = m[i];
					assert(h+hj+1 < 16);
					T[X(v,i)] = t*16 + h+hj+1
				:: else -> tell(i)
				fi
			fi
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0;
	do			/* the others O */
	:: i < NS ->
		if
		:: (m[i]>>6) == 2 ->
			t = (m[i]>>4)&3;
			if
			:: t > (T[X(v,i)]>>4) -> SEND(CH[v*8+u], BQUERY*32, TWO(i,T[X(v,i)]))
			:: t < (T[X(v,i)]>>4) -> tell(i)
			:: else
			fi
		:: else
		fi;
		i++
	:: else -> break
	od;
	set = 0; i = 0;
	do			/* those of which u has not heard; the next hops turn */
	:: i < NS ->
		if :: h == 0 && m[i] == 0 -> tell(i) :: else fi;
		if
		:: ci[i] != 0 ->
			y = R[X(v,i)];
			if :: y != LOCAL && UP(v,y) -> set = set | (1<<y) :: else fi;
			R[X(v,i)] = u
		:: else
		fi;
		i++
	:: else -> break
	od;
	FORWARD(set, BMIG*32+h+1, CI_ARGS);
	i = 0;
	do
	:: i < NS -> if :: ci[i] != 0 -> flush(i,u) :: else fi; i++
	:: else -> break
	od
}

inline on_bsub() {
	i = m[0]; t = m[1]>>4; hj = m[1]&15;
	if
	:: t > (T[X(v,i)]>>4) || (t == (T[X(v,i)]>>4) && hj < (T[X(v,i)]&15)) ->
		assert(hj+h+1 < 16);
		R[X(v,i)] = u; T[X(v,i)] = t*16 + hj+h+1;
		FORWARD(nb[v], BSUB*32+h+1, TWO(i,m[1]));
		flush(i,u)
	:: else
	fi
}

inline on_bquery() {
	i = m[0]; t = m[1]>>4; hj = m[1]&15;
	if
	:: (T[X(v,i)]>>4) > t || ((T[X(v,i)]>>4) == t && (T[X(v,i)]&15) < hj) -> tell(i)
	:: else
	fi
}

inline react() {
	kind = kh>>5; h = kh&31;
	if
	:: kind == PUB -> e = m[0]-1; on_pub(e)
	:: kind == REP -> on_rep()
	:: kind == BMIG -> on_bmig()
	:: kind == BSUB -> on_bsub()
	:: kind == BQUERY -> on_bquery()
	fi
}

/* what was under way from v to u when their link fell is back at v: events are queued, the rest is gone */
inline returned() {
	kind = kh>>5;
	if
	:: kind == PUB ->
		i = 0;
		do
		:: i < NS ->
			if :: WANTS(m[0]-1,i) && R[X(v,i)] == u -> APPEND(Q[X(v,i)],m[0]) :: else fi;
			i++
		:: else -> break
		od
	:: kind == REP -> APPEND(Q[X(v,m[1])],m[0])
	:: else
	fi
}

inline lose(a, b) {
	v = a; u = b; nb[v] = nb[v] & (255-(1<<u)); c = CH[v*8+u];
	if
	:: c < NSMALL -> do :: nempty(qs[c]) -> qs[c]?kh,FIELDS; returned() :: empty(qs[c]) -> break od
#if NLARGE>0
	:: else -> c = c-NSMALL; do :: nempty(ql[c]) -> ql[c]?kh,FIELDS; returned() :: empty(ql[c]) -> break od
#endif
	fi
}

/* v, which followed `old`, joins `new` */
inline migrate() {
	nb[v] = nb[v] | (1<<new); nb[new] = nb[new] | (1<<v);
	i = 0;
	do
	:: i < NS ->
		if
		:: R[X(v,i)] == old -> ci[i] = 128+T[X(v,i)]; R[X(v,i)] = new
		:: else -> ci[i] = 64+T[X(v,i)]
		fi;
		i++
	:: else -> break
	od;
	SEND(CH[v*8+new], BMIG*32, CI_ARGS);
	i = 0;
	do
	:: i < NS -> if :: (ci[i]>>6) == 2 -> flush(i,new) :: else fi; i++
	:: else -> break
	od
}

#define FROM_SMALL(n) :: d_step { qs[n]?kh,FIELDS; u = SRC[n]; v = DST[n]; react(); skip }
#define FROM_LARGE(n) :: d_step { ql[n]?kh,FIELDS; u = SRC[n+NSMALL]; v = DST[n+NSMALL]; react(); skip }
#define PUBLISH(n,b)  :: d_step { !((done>>n)&1); done = done | (1<<n); v = b; u = NOBODY; e = n; on_pub(e); skip }
#define MOVE(n,b,o,w) :: d_step { at[n] == 0; at[n] = 1; old = o; lose(b,old); lose(old,b); skip } \
	:: d_step { at[n] == 1; at[n] = 2; v = b; old = o; new = w; migrate(); skip }

active proctype world()
{
end:	do
	STEPS
	od
}
