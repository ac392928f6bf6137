;; The room with a counter, for Nexis' server, which runs the logic of rooms as WebAssembly: "inc" adds data.by, else 1, and
;; each message is answered to all. It reads what it needs of the JSON, which Nexis writes without spaces.
(module
  (memory (export "memory") 16)
  (data (i32.const 0) "{\"counter\":0}")
  (data (i32.const 32) "\"counter\":")
  (data (i32.const 64) "\"type\":\"inc\"")
  (data (i32.const 96) "\"by\":")
  (data (i32.const 128) "{\"state\":{\"counter\":")
  (data (i32.const 192) "},\"event\":{\"type\":\"counter.updated\",\"data\":{\"by\":")
  (data (i32.const 320) ",\"counter\":")
  (data (i32.const 352) "}}}")
  (global $free (mut i32) (i32.const 4096))

  (func (export "alloc") (param $bytes i32) (result i32)
    (global.get $free)
    (global.set $free (i32.add (global.get $free) (local.get $bytes))))

  (func $pack (param $at i32) (param $bytes i32) (result i64)
    (i64.or (i64.shl (i64.extend_i32_u (local.get $at)) (i64.const 32)) (i64.extend_i32_u (local.get $bytes))))

  (func (export "nexis_initial_state") (result i64)
    (call $pack (i32.const 0) (i32.const 13)))

  ;; find returns where a word ends in a text, 0 if it is not there.
  (func $find (param $text i32) (param $bytes i32) (param $word i32) (param $length i32) (result i32)
    (local $at i32) (local $same i32)
    (block $none
      (loop $next
        (br_if $none (i32.gt_s (i32.add (local.get $at) (local.get $length)) (local.get $bytes)))
        (local.set $same (i32.const 0))
        (block $other
          (loop $compare
            (br_if $other (i32.ne
              (i32.load8_u (i32.add (i32.add (local.get $text) (local.get $at)) (local.get $same)))
              (i32.load8_u (i32.add (local.get $word) (local.get $same)))))
            (local.set $same (i32.add (local.get $same) (i32.const 1)))
            (br_if $compare (i32.lt_s (local.get $same) (local.get $length))))
          (return (i32.add (i32.add (local.get $text) (local.get $at)) (local.get $length))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (i32.const 0))

  ;; number reads digits.
  (func $number (param $at i32) (result i64)
    (local $n i64) (local $digit i32)
    (loop $next
      (local.set $digit (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)))
      (if (i32.lt_u (local.get $digit) (i32.const 10)) (then
        (local.set $n (i64.add (i64.mul (local.get $n) (i64.const 10)) (i64.extend_i32_u (local.get $digit))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next))))
    (local.get $n))

  ;; text and digits write at an address, and return the one behind.
  (func $text (param $to i32) (param $from i32) (param $bytes i32) (result i32)
    (memory.copy (local.get $to) (local.get $from) (local.get $bytes))
    (i32.add (local.get $to) (local.get $bytes)))
  (func $digits (param $to i32) (param $n i64) (result i32)
    (if (i64.ge_u (local.get $n) (i64.const 10)) (then
      (local.set $to (call $digits (local.get $to) (i64.div_u (local.get $n) (i64.const 10))))))
    (i32.store8 (local.get $to) (i32.add (i32.const 48) (i32.wrap_i64 (i64.rem_u (local.get $n) (i64.const 10)))))
    (i32.add (local.get $to) (i32.const 1)))

  (func (export "nexis_on_message") (param $state i32) (param $stateBytes i32) (param $input i32) (param $inputBytes i32) (result i64)
    (local $counter i64) (local $by i64) (local $at i32)
    (local.set $counter (call $number (call $find (local.get $state) (local.get $stateBytes) (i32.const 32) (i32.const 10))))
    (if (call $find (local.get $input) (local.get $inputBytes) (i32.const 64) (i32.const 12)) (then
      (local.set $by (i64.const 1))
      (local.set $at (call $find (local.get $input) (local.get $inputBytes) (i32.const 96) (i32.const 5)))
      (if (local.get $at) (then (local.set $by (call $number (local.get $at)))))))
    (local.set $counter (i64.add (local.get $counter) (local.get $by)))
    (local.set $at (call $text (i32.const 1024) (i32.const 128) (i32.const 20)))
    (local.set $at (call $digits (local.get $at) (local.get $counter)))
    (local.set $at (call $text (local.get $at) (i32.const 192) (i32.const 49)))
    (local.set $at (call $digits (local.get $at) (local.get $by)))
    (local.set $at (call $text (local.get $at) (i32.const 320) (i32.const 11)))
    (local.set $at (call $digits (local.get $at) (local.get $counter)))
    (local.set $at (call $text (local.get $at) (i32.const 352) (i32.const 3)))
    (call $pack (i32.const 1024) (i32.sub (local.get $at) (i32.const 1024)))))
