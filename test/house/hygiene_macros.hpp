// test/house/hygiene_macros.hpp — macros that widespread headers define, made to break what they
// meet.
//
// No include guard: they are defined anew wherever this is included.

// windows.h
#undef small
#define small @small is a macro of windows.h @
#undef near
#define near @near is a macro of windows.h @
#undef far
#define far @far is a macro of windows.h @
#undef interface
#define interface \
  @interface is   \
  a macro of windows.h @
#undef huge
#define huge @huge is a macro of windows.h @
#undef hyper
#define hyper @hyper is a macro of windows.h @
#undef pascal
#define pascal @pascal is a macro of windows.h @
#undef cdecl
#define cdecl @cdecl is a macro of windows.h @
#undef IN
#define IN @IN is a macro of windows.h @
#undef OUT
#define OUT @OUT is a macro of windows.h @
#undef OPTIONAL
#define OPTIONAL @OPTIONAL is a macro of windows.h @
#undef CONST
#define CONST @CONST is a macro of windows.h @
#undef VOID
#define VOID @VOID is a macro of windows.h @
#undef ERROR
#define ERROR @ERROR is a macro of windows.h @
#undef DELETE
#define DELETE @DELETE is a macro of windows.h @
#undef THIS
#define THIS @THIS is a macro of windows.h @
#undef TRUE
#define TRUE @TRUE is a macro of windows.h @
#undef FALSE
#define FALSE @FALSE is a macro of windows.h @
#undef STRICT
#define STRICT @STRICT is a macro of windows.h @
#undef INFINITE
#define INFINITE @INFINITE is a macro of windows.h @
#undef ABSOLUTE
#define ABSOLUTE @ABSOLUTE is a macro of windows.h @
#undef RELATIVE
#define RELATIVE @RELATIVE is a macro of windows.h @
#undef TRANSPARENT
#define TRANSPARENT @TRANSPARENT is a macro of windows.h @
#undef OPAQUE
#define OPAQUE @OPAQUE is a macro of windows.h @
#undef DIFFERENCE
#define DIFFERENCE @DIFFERENCE is a macro of windows.h @
#undef NO_ERROR
#define NO_ERROR @NO_ERROR is a macro of windows.h @
#undef CALLBACK
#define CALLBACK @CALLBACK is a macro of windows.h @
#undef DOMAIN
#define DOMAIN @DOMAIN is a macro of windows.h @
#undef ALTERNATE
#define ALTERNATE @ALTERNATE is a macro of windows.h @
#undef min
#define min(...) @min is a macro of windows.h @
#undef max
#define max(...) @max is a macro of windows.h @
#undef Yield
#define Yield(...) @Yield is a macro of windows.h @

// complex.h
#undef I
#define I @I is a macro of complex.h @
#undef complex
#define complex @complex is a macro of complex.h @
#undef imaginary
#define imaginary @imaginary is a macro of complex.h @

// termios.h
#undef B0
#define B0 @B0 is a macro of termios.h @
#undef B50
#define B50 @B50 is a macro of termios.h @
#undef B110
#define B110 @B110 is a macro of termios.h @
#undef ECHO
#define ECHO @ECHO is a macro of termios.h @
#undef NL0
#define NL0 @NL0 is a macro of termios.h @
#undef CR0
#define CR0 @CR0 is a macro of termios.h @
#undef TAB0
#define TAB0 @TAB0 is a macro of termios.h @
#undef BS0
#define BS0 @BS0 is a macro of termios.h @
#undef FF0
#define FF0 @FF0 is a macro of termios.h @
#undef VT0
#define VT0 @VT0 is a macro of termios.h @
#undef TOSTOP
#define TOSTOP @TOSTOP is a macro of termios.h @

// sys/sysmacros.h
#undef major
#define major(...) @major is a macro of sys / sysmacros.h @
#undef minor
#define minor(...) @minor is a macro of sys / sysmacros.h @
#undef makedev
#define makedev(...) @makedev is a macro of sys / sysmacros.h @

// sys/param.h
#undef NBBY
#define NBBY @NBBY is a macro of sys / param.h @
#undef MAXHOSTNAMELEN
#define MAXHOSTNAMELEN @MAXHOSTNAMELEN is a macro of sys / param.h @
#undef MIN
#define MIN(...) @MIN is a macro of sys / param.h @
#undef MAX
#define MAX(...) @MAX is a macro of sys / param.h @
#undef howmany
#define howmany(...) @howmany is a macro of sys / param.h @
#undef roundup
#define roundup(...) @roundup is a macro of sys / param.h @
#undef setbit
#define setbit(...) @setbit is a macro of sys / param.h @
#undef isset
#define isset(...) @isset is a macro of sys / param.h @

// math.h
#undef HUGE
#define HUGE @HUGE is a macro of math.h @
#undef OVERFLOW
#define OVERFLOW @OVERFLOW is a macro of math.h @
#undef UNDERFLOW
#define UNDERFLOW @UNDERFLOW is a macro of math.h @
#undef SING
#define SING @SING is a macro of math.h @
#undef PLOSS
#define PLOSS @PLOSS is a macro of math.h @

// a compiler in GNU mode
#undef unix
#define unix @unix is a macro of a compiler in GNU mode @
#undef linux
#define linux @linux is a macro of a compiler in GNU mode @
#undef i386
#define i386 @i386 is a macro of a compiler in GNU mode @
#undef mips
#define mips @mips is a macro of a compiler in GNU mode @
#undef sparc
#define sparc @sparc is a macro of a compiler in GNU mode @
#undef sun
#define sun @sun is a macro of a compiler in GNU mode @

// AssertMacros.h
#undef nil
#define nil @nil is a macro of AssertMacros.h @
#undef check
#define check(...) @check is a macro of AssertMacros.h @
#undef verify
#define verify(...) @verify is a macro of AssertMacros.h @
#undef require
#define require(...) @require is a macro of AssertMacros.h @

// X.h
#undef None
#define None @None is a macro of X.h @
#undef Bool
#define Bool @Bool is a macro of X.h @
#undef Status
#define Status @Status is a macro of X.h @
#undef Success
#define Success @Success is a macro of X.h @
#undef True
#define True @True is a macro of X.h @
#undef False
#define False @False is a macro of X.h @
#undef Always
#define Always @Always is a macro of X.h @
#undef Unsorted
#define Unsorted @Unsorted is a macro of X.h @
#undef Above
#define Above @Above is a macro of X.h @
#undef Below
#define Below @Below is a macro of X.h @
#undef Complex
#define Complex @Complex is a macro of X.h @

// Qt
#undef emit
#define emit @emit is a macro of Qt @
#undef slots
#define slots @slots is a macro of Qt @
#undef signals
#define signals @signals is a macro of Qt @
#undef forever
#define forever @forever is a macro of Qt @
#undef foreach
#define foreach(...) @foreach is a macro of Qt @
