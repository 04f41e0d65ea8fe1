(module
  (type (;0;) (func (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
  (type (;1;) (func (param i32 i32 i32 i32 i32 i32 i32)))
  (type (;2;) (func (param i32 i32 i32 i32)))
  (import "env" "memory" (memory (;0;) 1 65536 shared))
  (func (;0;) (type 0) (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)
    (local i32 i32 v128 v128 v128 v128 v128 v128 i32 i32 i32 i32 v128 v128 i32 i32 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 f32 f32 f32 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128)
    (local.set 12
      (i32.load
        (local.get 0)))
    (block  ;; label = @1
      (loop  ;; label = @2
        (br_if 1 (;@1;)
          (i32.eqz
            (local.get 4)))
        (local.set 19
          (v128.load32_splat offset=4288
            (i32.const 0)))
        (local.set 36
          (v128.load32_splat offset=4324
            (i32.const 0)))
        (local.set 43
          (v128.load32_splat offset=4128
            (i32.const 0)))
        (local.set 45
          (v128.load32_splat offset=4124
            (i32.const 0)))
        (local.set 49
          (v128.load32_splat offset=4120
            (i32.const 0)))
        (local.set 50
          (v128.load32_splat offset=4116
            (i32.const 0)))
        (local.set 52
          (v128.load32_splat offset=4112
            (i32.const 0)))
        (local.set 54
          (v128.load32_splat offset=4108
            (i32.const 0)))
        (local.set 56
          (v128.load32_splat offset=4104
            (i32.const 0)))
        (local.set 58
          (v128.load32_splat offset=4100
            (i32.const 0)))
        (local.set 60
          (v128.load32_splat offset=4096
            (i32.const 0)))
        (local.set 18
          (i32x4.splat
            (i32.add
              (local.get 6)
              (i32.load offset=32
                (local.get 0)))))
        (local.set 14
          (local.get 19))
        (local.set 15
          (local.get 19))
        (local.set 20
          (i32.const 0))
        (local.set 21
          (i32.const 0))
        (block  ;; label = @3
          (loop  ;; label = @4
            (br_if 1 (;@3;)
              (i32.eqz
                (i32.lt_s
                  (local.get 21)
                  (i32.const 2))))
            (local.set 22
              (select
                (local.get 11)
                (local.get 20)
                (local.get 21)))
            (local.set 13
              (i32.add
                (local.get 2)
                (i32.shl
                  (local.get 22)
                  (i32.const 2))))
            (local.set 23
              (i32.add
                (local.get 2)
                (i32.shl
                  (select
                    (local.get 8)
                    (local.get 10)
                    (local.get 21))
                  (i32.const 2))))
            (block  ;; label = @5
              (loop  ;; label = @6
                (br_if 1 (;@5;)
                  (i32.eqz
                    (i32.ne
                      (local.get 13)
                      (local.get 23))))
                (local.set 24
                  (v128.load
                    (local.get 13)))
                (local.set 25
                  (v128.load offset=16
                    (local.get 13)))
                (local.set 14
                  (f32x4.pmax
                    (local.get 14)
                    (local.get 24)))
                (local.set 15
                  (f32x4.pmax
                    (local.get 15)
                    (local.get 25)))
                (local.set 13
                  (i32.add
                    (local.get 13)
                    (i32.const 32)))
                (br_if 0 (;@6;)
                  (i32.const 1))))
            (local.set 21
              (i32.add
                (local.get 21)
                (i32.const 1)))
            (br_if 0 (;@4;)
              (i32.const 1))))
        (local.set 26
          (local.get 10))
        (local.set 13
          (i32.add
            (local.get 2)
            (i32.shl
              (local.get 26)
              (i32.const 2))))
        (local.set 27
          (i32.add
            (local.get 2)
            (i32.shl
              (local.get 11)
              (i32.const 2))))
        (local.set 28
          (i32x4.splat
            (i32.add
              (local.get 7)
              (local.get 26))))
        (local.set 16
          (i32x4.add
            (local.get 28)
            (v128.load offset=4352
              (i32.const 0))))
        (local.set 17
          (i32x4.add
            (local.get 28)
            (v128.load offset=4368
              (i32.const 0))))
        (local.set 29
          (v128.load32_splat offset=4
            (local.get 12)))
        (block  ;; label = @3
          (loop  ;; label = @4
            (br_if 1 (;@3;)
              (i32.eqz
                (i32.ne
                  (local.get 13)
                  (local.get 27))))
            (local.set 30
              (v128.load
                (local.get 13)))
            (local.set 31
              (v128.load offset=16
                (local.get 13)))
            (local.set 32
              (i32x4.le_s
                (local.get 16)
                (local.get 18)))
            (local.set 33
              (i32x4.le_s
                (local.get 17)
                (local.get 18)))
            (local.set 34
              (v128.and
                (local.get 32)
                (i32x4.lt_s
                  (local.get 16)
                  (local.get 29))))
            (local.set 35
              (v128.and
                (local.get 33)
                (i32x4.lt_s
                  (local.get 17)
                  (local.get 29))))
            (local.set 30
              (v128.bitselect
                (local.get 30)
                (local.get 19)
                (local.get 34)))
            (local.set 31
              (v128.bitselect
                (local.get 31)
                (local.get 19)
                (local.get 35)))
            (v128.store
              (local.get 13)
              (local.get 30))
            (v128.store offset=16
              (local.get 13)
              (local.get 31))
            (local.set 14
              (f32x4.pmax
                (local.get 14)
                (local.get 30)))
            (local.set 15
              (f32x4.pmax
                (local.get 15)
                (local.get 31)))
            (local.set 16
              (i32x4.add
                (local.get 16)
                (local.get 36)))
            (local.set 17
              (i32x4.add
                (local.get 17)
                (local.get 36)))
            (local.set 13
              (i32.add
                (local.get 13)
                (i32.const 32)))
            (br_if 0 (;@4;)
              (i32.const 1))))
        (v128.store
          (local.get 1)
          (local.get 14))
        (v128.store offset=16
          (local.get 1)
          (local.get 15))
        (local.set 37
          (f32x4.pmax
            (v128.load
              (local.get 1))
            (v128.load offset=16
              (local.get 1))))
        (local.set 38
          (f32x4.pmax
            (local.get 37)
            (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7
              (local.get 37)
              (local.get 37))))
        (local.set 39
          (f32x4.extract_lane 0
            (f32x4.pmax
              (local.get 38)
              (i8x16.shuffle 4 5 6 7 0 1 2 3 12 13 14 15 8 9 10 11
                (local.get 38)
                (local.get 38)))))
        (local.set 40
          (f32.load
            (local.get 3)))
        (local.set 41
          (f32.max
            (local.get 40)
            (local.get 39)))
        (f32.store
          (local.get 3)
          (local.get 41))
        (local.set 42
          (f32x4.splat
            (local.get 41)))
        (local.set 42
          (v128.and
            (local.get 42)
            (f32x4.ne
              (local.get 42)
              (local.get 19))))
        (local.set 44
          (f32x4.pmax
            (f32x4.mul
              (f32x4.sub
                (f32x4.splat
                  (local.get 40))
                (local.get 42))
              (v128.load32_splat offset=48
                (local.get 12)))
            (local.get 43)))
        (local.set 46
          (f32x4.add
            (local.get 44)
            (local.get 45)))
        (local.set 47
          (f32x4.sub
            (local.get 46)
            (local.get 45)))
        (local.set 48
          (f32x4.sub
            (local.get 44)
            (local.get 47)))
        (local.set 51
          (f32x4.add
            (f32x4.mul
              (local.get 49)
              (local.get 48))
            (local.get 50)))
        (local.set 53
          (f32x4.add
            (f32x4.mul
              (local.get 51)
              (local.get 48))
            (local.get 52)))
        (local.set 55
          (f32x4.add
            (f32x4.mul
              (local.get 53)
              (local.get 48))
            (local.get 54)))
        (local.set 57
          (f32x4.add
            (f32x4.mul
              (local.get 55)
              (local.get 48))
            (local.get 56)))
        (local.set 59
          (f32x4.add
            (f32x4.mul
              (local.get 57)
              (local.get 48))
            (local.get 58)))
        (local.set 61
          (f32x4.add
            (f32x4.mul
              (local.get 59)
              (local.get 48))
            (local.get 60)))
        (local.set 62
          (i32x4.shl
            (local.get 46)
            (i32.const 23)))
        (local.set 63
          (i32x4.add
            (local.get 61)
            (local.get 62)))
        (f32.store offset=128
          (local.get 3)
          (f32x4.extract_lane 0
            (local.get 63)))
        (local.set 2
          (i32.add
            (local.get 2)
            (i32.const 512)))
        (local.set 3
          (i32.add
            (local.get 3)
            (i32.const 4)))
        (local.set 6
          (i32.add
            (local.get 6)
            (i32.const 1)))
        (local.set 9
          (i32.add
            (local.get 9)
            (i32.const 1)))
        (local.set 4
          (i32.add
            (local.get 4)
            (i32.const -1)))
        (br_if 0 (;@2;)
          (i32.const 1)))))
  (func (;1;) (type 1) (param i32 i32 i32 i32 i32 i32 i32)
    (local i32 i32 v128 v128 i32 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128)
    (local.set 11
      (i32.load
        (local.get 0)))
    (local.set 14
      (v128.load32_splat offset=4288
        (i32.const 0)))
    (local.set 21
      (v128.load32_splat offset=4292
        (i32.const 0)))
    (local.set 24
      (v128.load32_splat offset=4124
        (i32.const 0)))
    (local.set 31
      (v128.load32_splat offset=4120
        (i32.const 0)))
    (local.set 32
      (v128.load32_splat offset=4116
        (i32.const 0)))
    (local.set 35
      (v128.load32_splat offset=4112
        (i32.const 0)))
    (local.set 38
      (v128.load32_splat offset=4108
        (i32.const 0)))
    (local.set 41
      (v128.load32_splat offset=4104
        (i32.const 0)))
    (local.set 44
      (v128.load32_splat offset=4100
        (i32.const 0)))
    (local.set 47
      (v128.load32_splat offset=4096
        (i32.const 0)))
    (local.set 12
      (v128.load32_splat offset=48
        (local.get 11)))
    (block  ;; label = @1
      (loop  ;; label = @2
        (br_if 1 (;@1;)
          (i32.eqz
            (local.get 3)))
        (local.set 13
          (v128.load32_splat
            (local.get 2)))
        (local.set 13
          (v128.and
            (local.get 13)
            (f32x4.ne
              (local.get 13)
              (local.get 14))))
        (local.set 7
          (local.get 1))
        (local.set 8
          (i32.add
            (local.get 1)
            (i32.shl
              (local.get 6)
              (i32.const 2))))
        (loop  ;; label = @3
          (local.set 15
            (v128.load
              (local.get 7)))
          (local.set 16
            (v128.load offset=16
              (local.get 7)))
          (local.set 17
            (f32x4.sub
              (local.get 15)
              (local.get 13)))
          (local.set 18
            (f32x4.sub
              (local.get 16)
              (local.get 13)))
          (local.set 19
            (f32x4.mul
              (local.get 17)
              (local.get 12)))
          (local.set 20
            (f32x4.mul
              (local.get 18)
              (local.get 12)))
          (local.set 22
            (f32x4.lt
              (local.get 19)
              (local.get 21)))
          (local.set 23
            (f32x4.lt
              (local.get 20)
              (local.get 21)))
          (local.set 25
            (f32x4.add
              (local.get 19)
              (local.get 24)))
          (local.set 26
            (f32x4.add
              (local.get 20)
              (local.get 24)))
          (local.set 27
            (f32x4.sub
              (local.get 25)
              (local.get 24)))
          (local.set 28
            (f32x4.sub
              (local.get 26)
              (local.get 24)))
          (local.set 29
            (f32x4.sub
              (local.get 19)
              (local.get 27)))
          (local.set 30
            (f32x4.sub
              (local.get 20)
              (local.get 28)))
          (local.set 33
            (f32x4.add
              (f32x4.mul
                (local.get 31)
                (local.get 29))
              (local.get 32)))
          (local.set 34
            (f32x4.add
              (f32x4.mul
                (local.get 31)
                (local.get 30))
              (local.get 32)))
          (local.set 36
            (f32x4.add
              (f32x4.mul
                (local.get 33)
                (local.get 29))
              (local.get 35)))
          (local.set 37
            (f32x4.add
              (f32x4.mul
                (local.get 34)
                (local.get 30))
              (local.get 35)))
          (local.set 39
            (f32x4.add
              (f32x4.mul
                (local.get 36)
                (local.get 29))
              (local.get 38)))
          (local.set 40
            (f32x4.add
              (f32x4.mul
                (local.get 37)
                (local.get 30))
              (local.get 38)))
          (local.set 42
            (f32x4.add
              (f32x4.mul
                (local.get 39)
                (local.get 29))
              (local.get 41)))
          (local.set 43
            (f32x4.add
              (f32x4.mul
                (local.get 40)
                (local.get 30))
              (local.get 41)))
          (local.set 45
            (f32x4.add
              (f32x4.mul
                (local.get 42)
                (local.get 29))
              (local.get 44)))
          (local.set 46
            (f32x4.add
              (f32x4.mul
                (local.get 43)
                (local.get 30))
              (local.get 44)))
          (local.set 48
            (f32x4.add
              (f32x4.mul
                (local.get 45)
                (local.get 29))
              (local.get 47)))
          (local.set 49
            (f32x4.add
              (f32x4.mul
                (local.get 46)
                (local.get 30))
              (local.get 47)))
          (local.set 50
            (i32x4.shl
              (local.get 25)
              (i32.const 23)))
          (local.set 51
            (i32x4.shl
              (local.get 26)
              (i32.const 23)))
          (local.set 52
            (i32x4.add
              (local.get 48)
              (local.get 50)))
          (local.set 53
            (i32x4.add
              (local.get 49)
              (local.get 51)))
          (local.set 54
            (v128.andnot
              (local.get 52)
              (local.get 22)))
          (local.set 55
            (v128.andnot
              (local.get 53)
              (local.get 23)))
          (v128.store
            (local.get 7)
            (local.get 54))
          (v128.store offset=16
            (local.get 7)
            (local.get 55))
          (local.set 7
            (i32.add
              (local.get 7)
              (i32.const 32)))
          (br_if 0 (;@3;)
            (i32.ne
              (local.get 7)
              (local.get 8))))
        (local.set 1
          (i32.add
            (local.get 1)
            (i32.const 512)))
        (local.set 2
          (i32.add
            (local.get 2)
            (i32.const 4)))
        (local.set 4
          (i32.add
            (local.get 4)
            (i32.const 1)))
        (local.set 3
          (i32.add
            (local.get 3)
            (i32.const -1)))
        (br_if 0 (;@2;)
          (i32.const 1)))))
  (func (;2;) (type 2) (param i32 i32 i32 i32)
    (local i32 i32 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128)
    (block  ;; label = @1
      (loop  ;; label = @2
        (br_if 1 (;@1;)
          (i32.eqz
            (i32.gt_s
              (local.get 2)
              (i32.const 8))))
        (local.set 4
          (local.get 0))
        (local.set 5
          (i32.add
            (local.get 0)
            (i32.shl
              (local.get 3)
              (i32.const 2))))
        (local.set 6
          (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
        (local.set 7
          (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
        (local.set 8
          (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
        (loop  ;; label = @3
          (local.set 9
            (v128.load
              (local.get 4)))
          (local.set 10
            (v128.load offset=512
              (local.get 4)))
          (local.set 11
            (v128.load offset=1024
              (local.get 4)))
          (local.set 12
            (v128.load offset=1536
              (local.get 4)))
          (local.set 13
            (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
              (local.get 9)
              (local.get 10)))
          (local.set 14
            (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
              (local.get 9)
              (local.get 10)))
          (local.set 15
            (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
              (local.get 11)
              (local.get 12)))
          (local.set 16
            (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
              (local.get 11)
              (local.get 12)))
          (local.set 6
            (f32x4.add
              (local.get 6)
              (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
                (local.get 13)
                (local.get 15))))
          (local.set 6
            (f32x4.add
              (local.get 6)
              (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
                (local.get 13)
                (local.get 15))))
          (local.set 6
            (f32x4.add
              (local.get 6)
              (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
                (local.get 14)
                (local.get 16))))
          (local.set 6
            (f32x4.add
              (local.get 6)
              (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
                (local.get 14)
                (local.get 16))))
          (local.set 17
            (v128.load offset=2048
              (local.get 4)))
          (local.set 18
            (v128.load offset=2560
              (local.get 4)))
          (local.set 19
            (v128.load offset=3072
              (local.get 4)))
          (local.set 20
            (v128.load offset=3584
              (local.get 4)))
          (local.set 21
            (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
              (local.get 17)
              (local.get 18)))
          (local.set 22
            (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
              (local.get 17)
              (local.get 18)))
          (local.set 23
            (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
              (local.get 19)
              (local.get 20)))
          (local.set 24
            (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
              (local.get 19)
              (local.get 20)))
          (local.set 7
            (f32x4.add
              (local.get 7)
              (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
                (local.get 21)
                (local.get 23))))
          (local.set 7
            (f32x4.add
              (local.get 7)
              (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
                (local.get 21)
                (local.get 23))))
          (local.set 7
            (f32x4.add
              (local.get 7)
              (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
                (local.get 22)
                (local.get 24))))
          (local.set 7
            (f32x4.add
              (local.get 7)
              (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
                (local.get 22)
                (local.get 24))))
          (local.set 25
            (v128.load offset=4096
              (local.get 4)))
          (local.set 26
            (v128.load offset=4608
              (local.get 4)))
          (local.set 27
            (v128.load offset=5120
              (local.get 4)))
          (local.set 28
            (v128.load offset=5632
              (local.get 4)))
          (local.set 29
            (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
              (local.get 25)
              (local.get 26)))
          (local.set 30
            (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
              (local.get 25)
              (local.get 26)))
          (local.set 31
            (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
              (local.get 27)
              (local.get 28)))
          (local.set 32
            (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
              (local.get 27)
              (local.get 28)))
          (local.set 8
            (f32x4.add
              (local.get 8)
              (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
                (local.get 29)
                (local.get 31))))
          (local.set 8
            (f32x4.add
              (local.get 8)
              (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
                (local.get 29)
                (local.get 31))))
          (local.set 8
            (f32x4.add
              (local.get 8)
              (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
                (local.get 30)
                (local.get 32))))
          (local.set 8
            (f32x4.add
              (local.get 8)
              (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
                (local.get 30)
                (local.get 32))))
          (local.set 4
            (i32.add
              (local.get 4)
              (i32.const 16)))
          (br_if 0 (;@3;)
            (i32.ne
              (local.get 4)
              (local.get 5))))
        (v128.store offset=64
          (local.get 1)
          (f32x4.add
            (f32x4.mul
              (v128.load offset=64
                (local.get 1))
              (v128.load offset=128
                (local.get 1)))
            (local.get 6)))
        (v128.store offset=80
          (local.get 1)
          (f32x4.add
            (f32x4.mul
              (v128.load offset=80
                (local.get 1))
              (v128.load offset=144
                (local.get 1)))
            (local.get 7)))
        (v128.store offset=96
          (local.get 1)
          (f32x4.add
            (f32x4.mul
              (v128.load offset=96
                (local.get 1))
              (v128.load offset=160
                (local.get 1)))
            (local.get 8)))
        (local.set 0
          (i32.add
            (local.get 0)
            (i32.const 6144)))
        (local.set 1
          (i32.add
            (local.get 1)
            (i32.const 48)))
        (local.set 2
          (i32.add
            (local.get 2)
            (i32.const -12)))
        (br_if 0 (;@2;)
          (i32.const 1))))
    (block  ;; label = @1
      (loop  ;; label = @2
        (br_if 1 (;@1;)
          (i32.eqz
            (i32.gt_s
              (local.get 2)
              (i32.const 0))))
        (local.set 4
          (local.get 0))
        (local.set 5
          (i32.add
            (local.get 0)
            (i32.shl
              (local.get 3)
              (i32.const 2))))
        (local.set 6
          (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
        (local.set 7
          (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
        (local.set 8
          (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
        (loop  ;; label = @3
          (local.set 33
            (v128.load
              (local.get 4)))
          (local.set 34
            (v128.load offset=512
              (local.get 4)))
          (local.set 35
            (v128.load offset=1024
              (local.get 4)))
          (local.set 36
            (v128.load offset=1536
              (local.get 4)))
          (local.set 37
            (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
              (local.get 33)
              (local.get 34)))
          (local.set 38
            (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
              (local.get 33)
              (local.get 34)))
          (local.set 39
            (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
              (local.get 35)
              (local.get 36)))
          (local.set 40
            (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
              (local.get 35)
              (local.get 36)))
          (local.set 6
            (f32x4.add
              (local.get 6)
              (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
                (local.get 37)
                (local.get 39))))
          (local.set 6
            (f32x4.add
              (local.get 6)
              (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
                (local.get 37)
                (local.get 39))))
          (local.set 6
            (f32x4.add
              (local.get 6)
              (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
                (local.get 38)
                (local.get 40))))
          (local.set 6
            (f32x4.add
              (local.get 6)
              (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
                (local.get 38)
                (local.get 40))))
          (local.set 4
            (i32.add
              (local.get 4)
              (i32.const 16)))
          (br_if 0 (;@3;)
            (i32.ne
              (local.get 4)
              (local.get 5))))
        (v128.store offset=64
          (local.get 1)
          (f32x4.add
            (f32x4.mul
              (v128.load offset=64
                (local.get 1))
              (v128.load offset=128
                (local.get 1)))
            (local.get 6)))
        (local.set 0
          (i32.add
            (local.get 0)
            (i32.const 2048)))
        (local.set 1
          (i32.add
            (local.get 1)
            (i32.const 16)))
        (local.set 2
          (i32.add
            (local.get 2)
            (i32.const -4)))
        (br_if 0 (;@2;)
          (i32.const 1))))))
