(* Scores of vectors that matrices, means and rotations make of independent numbers. *)
From Coq Require Import Reals Lra Lia List.
From SDPA Require Import Sums Expectation Independence Scores Rows.
Import ListNotations.
Local Open Scope R_scope.

Section Mixtures.
Context {P : space}.

(* ---- a mean and a combination of independent numbers with mean 0 and variance 1 ---- *)
Definition mixed r (z : nat -> P -> R) (u : R) (A : nat -> R) : P -> R :=
  fun w => u + sum r (fun c => A c * z c w).

Section Mixed.
Variables (r : nat) (z : nat -> P -> R).
Hypotheses (H : independent 2 (all1 r z)) (Z : alike r z 0 1).

Lemma mixed_expanded u A v B w : mixed r z u A w * mixed r z v B w = u * mixed r z v B w +
  (v * sum r (fun c => A c * z c w) + sum r (fun c => sum r (fun e => A c * B e * (z c w * z e w)))).
Proof.
  rewrite (sum_ext r (fun c => sum r (fun e => A c * B e * (z c w * z e w)))
    (fun c => sum r (fun e => A c * z c w * (B e * z e w)))).
  - rewrite <- sum_mult. unfold mixed. ring.
  - intros c _. apply sum_ext; intros e _. ring.
Qed.
Lemma mixed_polynomial u A : polynomial 2 (all1 r z) (mixed r z u A).
Proof.
  apply of_sum; [apply polynomial_const|]. apply polynomial_sum; intros c Hc. apply polynomial_scal.
  now apply (vector_row r z c c).
Qed.
Lemma mixed_product_polynomial u A v B : polynomial 2 (all1 r z) (fun w => mixed r z u A w * mixed r z v B w).
Proof.
  apply (of_equal _ _ _ _ (fun w => eq_sym (mixed_expanded u A v B w))).
  apply of_sum; [apply polynomial_scal, mixed_polynomial|]. apply of_sum; [apply polynomial_scal|];
    apply polynomial_sum; intros c Hc; [apply polynomial_scal; now apply (vector_row r z c c)|].
  apply polynomial_sum; intros e He. apply polynomial_scal. now apply (vector_row r z c e).
Qed.
Lemma mixed_mean u A : E (mixed r z u A) = u.
Proof.
  unfold mixed.
  assert (I : forall c, (c < r)%nat -> integrable (fun w => A c * z c w)).
  { intros c Hc. apply integrable_scal, (polynomial_integrable 2 (all1 r z)); auto.
    now apply (vector_row r z c c). }
  rewrite E_plus, E_const, (E_sum r (fun c w => A c * z c w)); auto using integrable_const, integrable_sum.
  rewrite (sum_ext r _ (fun _ => 0)), sum_const; [ring|]. intros c Hc.
  rewrite E_scal, (proj1 (Z c Hc)); [ring|].
  apply (polynomial_integrable 2 (all1 r z)); auto. now apply (vector_row r z c c).
Qed.
Lemma mixed_product u A v B : E (fun w => mixed r z u A w * mixed r z v B w) = u * v +
  sum r (fun c => A c * B c).
Proof.
  pose (S w := sum r (fun c => sum r (fun e => A c * B e * (z c w * z e w)))).
  assert (I : forall c e, (c < r)%nat -> (e < r)%nat -> integrable (fun w => z c w * z e w)).
  { intros c e Hc He. apply (polynomial_integrable 2 (all1 r z)); auto. now apply (vector_row r z c e). }
  assert (IS : integrable S).
  { apply integrable_sum; intros c Hc. apply (integrable_sum r (fun e w => A c * B e * (z c w * z e w))).
    intros e He. apply integrable_scal; auto. }
  assert (IM : forall u A, integrable (mixed r z u A)).
  { intros. apply (polynomial_integrable 2 (all1 r z)); auto using mixed_polynomial. }
  rewrite (E_ext _ (fun w => u * mixed r z v B w + (v * mixed r z 0 A w + S w))).
  - rewrite E_plus, E_plus, !E_scal, !mixed_mean; auto using integrable_scal, integrable_plus.
    unfold S. rewrite E_sum.
    + rewrite (sum_ext r _ (fun c => A c * B c)); [ring|]. intros c Hc.
      rewrite (E_sum r (fun e w => A c * B e * (z c w * z e w))) by (intros; apply integrable_scal; auto).
      rewrite (sum_ext r _ (fun e => if Nat.eqb e c then A c * B e else 0)); [now apply sum_single|].
      intros e He. rewrite E_scal by auto. rewrite (second_moments r z 0 1) by auto.
      destruct (Nat.eqb e c); ring.
    + intros c Hc. apply (integrable_sum r (fun e w => A c * B e * (z c w * z e w))).
      intros e He. apply integrable_scal; auto.
  - intro w. rewrite mixed_expanded. unfold S, mixed. ring.
Qed.
Lemma mixed_vector d u A : vector d (all1 r z) (fun i => mixed r z (u i) (A i)).
Proof. intros i g _ _. split; [apply mixed_polynomial|apply mixed_product_polynomial]. Qed.
End Mixed.

(* ---- two such vectors: the variance of their score ---- *)
Theorem variance_of_mixed d r s z y u A v B : independent 2 (all1 r z ++ all1 s y) -> alike r z 0 1 ->
  alike s y 0 1 ->
  let x := fun i => mixed r z (u i) (A i) in let x' := fun i => mixed s y (v i) (B i) in
  Var (dot d x x') = sum d (fun i => sum d (fun g =>
    (u i * u g + sum r (fun c => A i c * A g c)) * (v i * v g + sum s (fun c => B i c * B g c))
      - u i * v i * (u g * v g))).
Proof.
  intros H Z Y x x'. pose proof (independent_part _ _ _ H) as Hz. pose proof (independent_rest _ _ _ H) as Hy.
  rewrite (variance_of_dot d _ _ x x' H) by now apply mixed_vector.
  apply sum_ext; intros i _. apply sum_ext; intros g _. unfold x, x'.
  now rewrite !(mixed_product r z), !(mixed_product s y), !(mixed_mean r z), !(mixed_mean s y).
Qed.

(* what a matrix makes of them: trace of the product of covariances, and the forms of the two means *)
Theorem variance_of_matrices d m n r (z y : nat -> nat -> P -> R) a j u A v B : (a < m)%nat -> (j < n)%nat ->
  independent 2 (all2 n r y ++ all2 m r z) ->
  (forall j i, (j < n)%nat -> (i < r)%nat -> E (y j i) = 0 /\ E (fun w => y j i w ^ 2) = 1) ->
  (forall a i, (a < m)%nat -> (i < r)%nat -> E (z a i) = 0 /\ E (fun w => z a i w ^ 2) = 1) ->
  let C i g := sum r (fun c => A i c * A g c) in let D i g := sum r (fun c => B i c * B g c) in
  Var (dot d (fun i => mixed r (z a) (u i) (A i)) (fun i => mixed r (y j) (v i) (B i))) =
  sum d (fun i => sum d (fun g => C i g * D i g)) + sum d (fun i => sum d (fun g => u i * u g * D i g))
    + sum d (fun i => sum d (fun g => v i * v g * C i g)).
Proof.
  intros Ha Hj H Hy Hz C D.
  rewrite variance_of_mixed.
  - rewrite <- !sum_plus. apply sum_ext; intros i _. rewrite <- !sum_plus. apply sum_ext; intros g _.
    fold (C i g). fold (D i g). ring.
  - now apply (one_query_one_key r m n z y).
  - intros i Hi. now apply Hz.
  - intros i Hi. now apply Hy.
Qed.

(* ---- components that share a part ---- *)
Lemma variance_of_shared d (z y : nat -> P -> R) (x x' : P -> R) b c :
  independent 2 ((all1 d z ++ [x]) ++ (all1 d y ++ [x'])) ->
  alike d z 0 1 -> alike d y 0 1 -> E x = 0 /\ E (fun w => x w ^ 2) = 1 -> E x' = 0 /\
    E (fun w => x' w ^ 2) = 1 ->
  b ^ 2 + c ^ 2 = 1 ->
  Var (dot d (fun i w => b * x w + c * z i w) (fun i w => b * x' w + c * y i w)) =
  INR d * ((b ^ 2) ^ 2 * (INR d - 1) + 1).
Proof.
  intros H Z Y X X' hbc.
  pose (with_last (z : nat -> P -> R) x := fun i => if Nat.eqb i d then x else z i).
  assert (L : forall (z : nat -> P -> R) x, all1 (S d) (with_last z x) = all1 d z ++ [x]).
  { intros z0 x0. unfold all1, with_last. rewrite seq_S, map_app. simpl. rewrite Nat.eqb_refl. f_equal.
    apply map_ext_in. intros i h. apply in_seq in h. destruct (Nat.eqb_spec i d); [lia|easy]. }
  assert (A : forall z x, alike d z 0 1 -> E x = 0 /\ E (fun w => x w ^ 2) = 1 ->
    alike (S d) (with_last z x) 0 1).
  { intros z0 x0 h h0 i Hi. unfold with_last. destruct (Nat.eqb_spec i d); [easy|apply h; lia]. }
  pose (M i := fun j => if Nat.eqb j d then b else c * delta i j).
  assert (T : forall z x i w, (i < d)%nat -> mixed (S d) (with_last z x) 0 (M i) w = b * x w + c * z i w).
  { intros z0 x0 i w Hi. unfold mixed, with_last, M. cbn [sum]. rewrite Nat.eqb_refl.
    rewrite (sum_ext d _ (fun j => if Nat.eqb j i then c * z0 j w else 0)).
    - rewrite (sum_single d i (fun j => c * z0 j w)) by easy. ring.
    - intros j Hj. unfold delta. destruct (Nat.eqb_spec j d), (Nat.eqb_spec i j), (Nat.eqb_spec j i); subst;
      try easy; try lia; ring. }
  assert (N : forall i g, (i < d)%nat -> (g < d)%nat ->
    sum (S d) (fun j => M i j * M g j) = b ^ 2 + c ^ 2 * delta i g).
  { intros i g Hi Hg. unfold M. cbn [sum]. rewrite Nat.eqb_refl.
    rewrite (sum_ext d _ (fun j => if Nat.eqb j i then c ^ 2 * delta j g else 0)).
    - rewrite (sum_single d i (fun j => c ^ 2 * delta j g)) by easy. ring.
    - intros j Hj. unfold delta. destruct (Nat.eqb_spec j d), (Nat.eqb_spec i j), (Nat.eqb_spec j i),
      (Nat.eqb_spec g j), (Nat.eqb_spec j g);
        subst; try easy; try lia; ring. }
  rewrite (Var_ext _ (dot d (fun i => mixed (S d) (with_last z x) 0 (M i))
    (fun i => mixed (S d) (with_last y x') 0 (M i)))).
  - rewrite (variance_of_mixed d (S d) (S d) _ _ (fun _ => 0) M (fun _ => 0) M) by (rewrite ?L; auto).
    rewrite (sum_pairs d 1 ((b ^ 2) ^ 2)); [ring| |].
    + intros i Hi. rewrite !N, delta_same by easy. replace (b ^ 2 + c ^ 2 * 1) with 1 by lra. ring.
    + intros i g Hi Hg h. rewrite !N, delta_other by auto. ring.
  - intro w. apply sum_ext; intros i Hi. now rewrite !T.
Qed.
End Mixtures.
