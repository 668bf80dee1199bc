(* What needs no softmax and no chance: signs, and a sum of products of whole numbers. *)
From Coq Require Import Reals Lra Lia.
From SDPA Require Import Sums.
Local Open Scope R_scope.

(* A positive factor keeps the sign. *)
Lemma sign_of_multiple c x : 0 < c -> sign (c * x) = sign x.
Proof.
  intro Hc. unfold sign. destruct (Rlt_dec 0 x) as [p|p], (Rlt_dec 0 (c * x)) as [r|r]; try easy.
  - destruct r. now apply Rmult_lt_0_compat.
  - destruct p. apply (Rmult_lt_reg_l c); lra.
  - destruct (Rlt_dec x 0) as [p'|p'], (Rlt_dec (c * x) 0) as [r'|r']; try easy.
    + destruct r'. rewrite <- (Rmult_0_r c). now apply Rmult_lt_compat_l.
    + destruct p'. apply (Rmult_lt_reg_l c); lra.
Qed.
(* 1 times 3, 2 times 4, ..., n times n + 2 *)
Lemma sum_of_worked n : sum n (fun i => INR (i + 1) * (INR (i + 1) + 2)) = INR n * (INR n + 1) *
  (2 * INR n + 7) / 6.
Proof. induction n; cbn [sum]; [simpl; lra|]. rewrite IHn, S_INR, plus_INR. simpl. field. Qed.
(* powers of a positive number *)
Lemma Rpower_square x y : Rpower x y ^ 2 = Rpower x (2 * y).
Proof. simpl. rewrite Rmult_1_r, <- Rpower_plus. f_equal. ring. Qed.
